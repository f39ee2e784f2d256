/** The longest text that a page keeps in the browser under one name, in characters. */
const keptMaxChars = 50_000

/** Returns the text that this browser keeps under a name; empty without one, and where storage is unavailable. */
export function readKept(name: string): string {
  try {
    return window.localStorage.getItem(`flotilla.${name}`) ?? ''
  } catch {
    return ''
  }
}

/** Keeps a text in this browser. Without storage, or if the text is too long, nothing is kept. */
export function keepText(name: string, text: string): void {
  if (text.length > keptMaxChars) return
  try {
    window.localStorage.setItem(`flotilla.${name}`, text)
  } catch {
    // A choice that cannot be stored is made again on the next visit.
  }
}
