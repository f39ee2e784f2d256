/** The maximum length of an address in one line, in characters. */
const lineMaxChars = 200
/** Characters that a person does not see, or that change how the text around them is shown. */
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Returns text of an agent or a program in quotation marks for a person who decides. Line breaks and characters that
 * a person does not see are escaped, so that no text passes for another sentence. A text that is longer than
 * `maxChars` is cut, with ` …` behind the quotation marks. Pure.
 */
export function quoted(text: string, maxChars = Infinity): string {
  const whole = escaped(text)
  if (whole.length <= maxChars) return `"${whole}"`
  let shown = ''
  for (const character of text) {
    const next = escaped(character)
    if (shown.length + next.length > maxChars) break
    shown += next
  }
  return `"${shown}" …`
}

/** Returns an address without quotation marks: each character that no address has is escaped. Pure. */
export function wholeAddress(address: string): string {
  return address.replace(/[^!-~]/gu, codeOf)
}

/**
 * Returns an address for one line: its query, which the agent or the program writes freely, is only named by `?…`, and
 * a long path is cut. Pure.
 */
export function addressInLine(address: string): string {
  const [place = ''] = address.split(/[?#]/, 1)
  const shown = wholeAddress(place)
  const cut = shown.length > lineMaxChars ? `${shown.slice(0, lineMaxChars)}…` : shown
  return place.length < address.length ? `${cut}?…` : cut
}

/** Returns text, such as JSON, with each character escaped that a person does not see. Pure. */
export function visible(text: string): string {
  return text.replace(unseen, codeOf)
}

function escaped(text: string): string {
  return visible(JSON.stringify(text).slice(1, -1))
}

function codeOf(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}
