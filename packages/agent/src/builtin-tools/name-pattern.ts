/** A pattern of names in which `*` stands for any characters and `?` for one. Takes pattern times name at most. Pure. */
export function fitsPattern(pattern: string, name: string): boolean {
  const wanted = Array.from(pattern)
  const given = Array.from(name)
  let at = 0
  let star = -1
  let starTook = 0
  for (let from = 0; from < given.length;) {
    const one = wanted[at]
    if (one === '*') {
      star = at++
      starTook = from
    } else if (one === '?' || one === given[from]) {
      at++
      from++
    } else if (star === -1) {
      return false
    } else {
      // Only the last star is asked to take more: what an earlier one took is as good as anything.
      at = star + 1
      from = ++starTook
    }
  }
  return wanted.slice(at).every((one) => one === '*')
}
