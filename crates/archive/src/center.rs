//! One value per cell.
