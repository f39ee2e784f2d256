/** A name pattern in which `*` stands for any characters and `?` for one. Pure; cannot backtrack far: one name is at most 255 bytes. */
export function globToRegExp(pattern: string): RegExp {
  const source = pattern
    .replace(/\*+/g, '*')
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*/g, '.*')
    .replace(/\?/g, '.')
  return new RegExp(`^${source}$`, 'su')
}
