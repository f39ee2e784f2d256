/**
 * Finds files that import each other, directly or through others: each cycle once, with its files sorted. Type
 * imports count too, since a reader of one file of a cycle has to read all of them.
 */
export function importCircles(
  imports: readonly { readonly from: string; readonly to: string }[],
): readonly (readonly string[])[] {
  const targets = new Map<string, string[]>()
  for (const { from, to } of imports) targets.set(from, [...(targets.get(from) ?? []), to])
  const circles: string[][] = []
  // Tarjan's algorithm: `lowest` is the earliest visit that a file reaches. A file that reaches no earlier one
  // closes a cycle.
  const lowest = new Map<string, number>()
  const open: string[] = []

  const visit = (file: string): number => {
    const visited = lowest.size
    lowest.set(file, visited)
    open.push(file)
    let reached = visited
    for (const target of targets.get(file) ?? []) {
      if (!lowest.has(target)) reached = Math.min(reached, visit(target))
      else if (open.includes(target)) reached = Math.min(reached, lowest.get(target) ?? visited)
    }
    lowest.set(file, reached)
    if (reached === visited) {
      const circle = open.splice(open.lastIndexOf(file))
      if (circle.length > 1 || targets.get(file)?.includes(file)) circles.push(circle.toSorted())
    }
    return reached
  }
  for (const file of targets.keys()) if (!lowest.has(file)) visit(file)
  return circles.toSorted((one, other) => ((one[0] ?? '') < (other[0] ?? '') ? -1 : 1))
}
