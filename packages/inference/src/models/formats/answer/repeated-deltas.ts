/**
 * Reads the text of a stream whose pieces repeat all text so far, as the pieces of some servers do (`Hel`, `Hello`).
 * Create one per stream and kind of text.
 */
export interface RepeatedDeltas {
  /** Takes a piece and returns the new text in it; empty while it is not known what the piece repeats. */
  take(piece: string): string
  /** Returns the text that was held back; called at the end. */
  rest(): string
}

/** Pieces in a chain that are evidence, whatever their length. */
const chainMin = 4
/** A chain of three pieces is evidence from this length on, in characters. */
const longMin = 16
/** A chain of two pieces is evidence if the first one has this length, in characters. */
const firstMin = 32
/** Fewer different characters are no evidence: models draw lines, and tokens of one sign double their length. */
const signsMin = 4

/**
 * Pieces count as repeating if each from the first one on begins with the whole one before and is longer. Tokens of a
 * model do not grow so, and the evidence is required before anything is dropped:
 *
 * - four pieces in a row, or three with 16 characters, or two where the first has 32;
 * - at least four different characters;
 * - the text behind the first piece is no repetition of the beginning: a model that writes one line again and again
 *   grows so too.
 *
 * A piece in the chain is held until there is evidence, or until a piece breaks the chain: then all text is passed on
 * as it came. So two short pieces (`ha`, `haha`) stay two pieces, because nothing tells them apart from repetition.
 */
export function createRepeatedDeltas(): RepeatedDeltas {
  let state: 'unsure' | 'repeats' | 'plain' = 'unsure'
  /** The last piece of the chain, and the pieces behind the first one that are held. */
  let last = ''
  const held: string[] = []
  let firstChars = 0

  function isEvident(): boolean {
    const pieces = held.length + 1
    const isLong =
      pieces >= chainMin ||
      (pieces === 3 && last.length >= longMin) ||
      (pieces === 2 && firstChars >= firstMin)
    return isLong && new Set(last).size >= signsMin && !last.startsWith(last.slice(firstChars))
  }

  function plain(piece: string): string {
    state = 'plain'
    return held.splice(0).join('') + piece
  }

  return {
    take(piece) {
      if (state === 'plain' || piece === '') return piece
      if (last === '') {
        last = piece
        firstChars = piece.length
        return piece
      }
      const grows = piece.startsWith(last)
      if (state === 'repeats') {
        // One piece that does not begin with the text so far shows that the next ones are plain text again.
        if (!grows) return plain(piece)
        const news = piece.slice(last.length)
        last = piece
        return news
      }
      if (!grows || piece.length === last.length) return plain(piece)
      held.push(piece)
      last = piece
      if (!isEvident()) return ''
      state = 'repeats'
      held.length = 0
      return last.slice(firstChars)
    },
    rest: () => (state === 'unsure' ? plain('') : ''),
  }
}

/** Returns the new text in each of all pieces of a stream; without evidence of repetition the pieces as they are. Pure. */
export function readOnce(pieces: readonly string[]): string[] {
  const deltas = createRepeatedDeltas()
  const fresh = pieces.map((piece) => deltas.take(piece))
  // Text that was held back to the end is no repetition, and neither is text that was passed on late.
  const isComplete = charsIn(fresh) + deltas.rest().length === charsIn(pieces)
  return isComplete ? [...pieces] : fresh
}

function charsIn(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0)
}
