/**
 * Matches a name against a pattern in which `*` means any characters and `?` means one. Takes at most pattern
 * times name steps. Pure.
 */
export function fitsPattern(pattern: string, name: string): boolean {
  const characters = Array.from(pattern)
  const given = Array.from(name)
  let at = 0
  let star = -1
  let starTook = 0
  for (let from = 0; from < given.length;) {
    const one = characters[at]
    if (one === '*') {
      star = at++
      starTook = from
    } else if (one === '?' || one === given[from]) {
      at++
      from++
    } else if (star === -1) {
      return false
    } else {
      // Only the last star needs to match more characters: extending an earlier star cannot help.
      at = star + 1
      from = ++starTook
    }
  }
  return characters.slice(at).every((one) => one === '*')
}
