import { createBrackets } from './brackets.ts'
import type { Brackets } from './brackets.ts'
import { isObjectText } from './call-arguments.ts'

/** The parts of a call that tell whether others continue it. */
interface Call {
  readonly name: string
  readonly pieces: readonly string[]
  readonly brackets: Brackets
}

/** How often all arguments of an answer are read over to find continued calls, at most. */
const readingsMax = 4

/**
 * Joins calls that are one. Some servers give each piece of a call a new id and the name again, and a piece that
 * begins with a bracket then looks like the arguments of another call. Only the end of the answer tells them apart:
 * the arguments of the first one are incomplete, and with those of the next ones under the same name they are one
 * object, or a next one repeats them from the start. The first id is kept. Pure.
 */
export function joinContinued<C extends Call>(calls: readonly C[]): readonly C[] {
  const all = calls.reduce((sum, { pieces }) => pieces.reduce((chars, piece) => chars + piece.length, sum), 0)
  const room = { chars: all * readingsMax }
  const joined: C[] = []
  for (let at = 0; at < calls.length; at++) {
    const call = calls[at] as C
    const rest = call.brackets.areOpen() ? continuationOf(calls, at, room) : null
    joined.push(rest === null ? call : { ...call, pieces: rest.pieces, brackets: rest.brackets })
    if (rest !== null) at += rest.count
  }
  return joined
}

interface Continuation {
  readonly pieces: readonly string[]
  readonly brackets: Brackets
  /** How many of the next calls are part of this one. */
  readonly count: number
}

function continuationOf(calls: readonly Call[], at: number, room: { chars: number }): Continuation | null {
  const { name, pieces } = calls[at] as Call
  const begun = pieces.join('')
  const all = [begun]
  const brackets = createBrackets()
  brackets.take(begun)
  room.chars -= begun.length
  for (let next = at + 1; next < calls.length; next++) {
    const call = calls[next] as Call
    const text = call.pieces.join('')
    room.chars -= text.length
    if (call.name !== name || room.chars < 0) return null
    const count = next - at
    if (text.startsWith(begun) && call.brackets.areClosed()) {
      return { pieces: call.pieces, brackets: call.brackets, count }
    }
    all.push(text)
    brackets.take(text)
    if (brackets.areClosed()) return isObjectText(all.join('')) ? { pieces: all, brackets, count } : null
  }
  return null
}
