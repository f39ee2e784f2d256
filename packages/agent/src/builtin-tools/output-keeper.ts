/** Collects output of any length in bounded memory: its beginning and its end. */
export interface OutputKeeper {
  add(piece: string): void
  text(): string
}

export function createOutputKeeper(maxChars: number): OutputKeeper {
  const halfChars = Math.floor(maxChars / 2)
  let head = ''
  let tail = ''
  let total = 0
  return {
    add: (piece) => {
      total += piece.length
      const toHead = Math.max(0, halfChars - head.length)
      head += piece.slice(0, toHead)
      tail = (tail + piece.slice(toHead)).slice(-halfChars)
    },
    text: () => {
      const left = total - head.length - tail.length
      return left > 0 ? `${head}\n[${left} characters omitted]\n${tail}` : head + tail
    },
  }
}
