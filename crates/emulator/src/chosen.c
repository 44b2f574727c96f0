/*
 * Calls of chosen functions of the program, with the instructions of each call and of all that it
 * calls: they show what happens once in many operations, such as a page split.
 *
 * A call enters a function, and the return to behind the call leaves it. What is called within
 * counts as a call as well, and its instructions are those of the outermost one.
 */

#include "block.h"
#include <stdio.h>
#include <stdlib.h>

/* The file that has the functions, and where they begin in it. */
static uint64_t inode;
static uint64_t offsets[CHOSEN];
static unsigned functions;

/* What is mapped where, as far as anybody asked. */
enum { RANGES = 256 };
static struct range {
    uint64_t start, end;
    uint64_t offset;          /* in the file that has the functions; NOWHERE for any other */
} ranges[RANGES];
static unsigned known;
static const uint64_t NOWHERE = UINT64_MAX;

__thread unsigned chosen_within;
static __thread unsigned nested;
static __thread uint64_t until;

int chosen_open(const char *text)
{
    char *end;
    inode = strtoull(text, &end, 10);
    while ((*end == ':' || *end == '/') && functions < CHOSEN)
        offsets[functions++] = strtoull(end + 1, &end, 16);
    return functions > 0;
}

/* The mapping at an address, which the kernel knows. */
static struct range look(uint64_t address)
{
    struct range found = {address, address + 1, NOWHERE};
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    uint64_t start, end, offset, number;
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %*s %lx %*s %lu", &start, &end, &offset, &number) == 4 &&
            start <= address && address < end)
            found = (struct range){start, end, number == inode ? offset : NOWHERE};
    if (maps)
        fclose(maps);
    return found;
}

uint8_t chosen_at(uint64_t address)
{
    unsigned i = 0;
    if (!functions)
        return 0;
    while (i < known && (address < ranges[i].start || address >= ranges[i].end))
        i++;
    if (i == known) {
        if (known == RANGES)
            return 0;
        ranges[known++] = look(address);
    }
    if (ranges[i].offset == NOWHERE)
        return 0;
    uint64_t offset = address - ranges[i].start + ranges[i].offset;
    for (unsigned function = 0; function < functions; function++)
        if (offsets[function] == offset)
            return function + 1;
    return 0;
}

void chosen_follow(struct chosen *all, const struct block *before, const struct block *now)
{
    if (chosen_within && before->ends == BY_RETURN && now->start == until && !--nested)
        chosen_within = 0;
    if (!now->chosen || before->ends != BY_CALL)
        return;
    uint64_t site = before->start + before->bytes;
    all[now->chosen - 1].calls++;
    if (!chosen_within) {
        chosen_within = now->chosen;
        until = site;
        nested = 1;
    } else if (site == until) {
        nested++;
    }
}

void chosen_leave(void)
{
    chosen_within = 0;
}
