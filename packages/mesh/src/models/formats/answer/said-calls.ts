import { unreadable } from './unreadable.ts'
import { settleArguments } from './call-arguments.ts'

/** A piece of a tool call as one event tells it. */
export interface CallPiece {
  /** Null where the provider leaves it out. */
  readonly index: number | null
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** Google's seal of the call, which it wants back. */
  readonly seal: string
}

/** A call as the model made it. */
export interface SaidCall {
  /** As the provider gave it: empty, or the same for two calls, where it did so. */
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly seal: string
}

interface OpenCall {
  readonly index: number | null
  id: string
  name: string
  seal: string
  readonly pieces: string[]
  /** Brackets of the arguments so far. */
  readonly brackets: Brackets
}

/** Calls of one answer; a model that makes more is broken. */
const callsMax = 256
/** The longest tool name that is read, in characters; providers accept at most 64. */
const nameMaxChars = 512

export interface SaidCalls {
  take(piece: CallPiece): void
  /** Has any call begun? */
  hasAny(): boolean
  /** `isCut`: the answer ended at a bound, so that the last call may lack its end. */
  settled(isCut: boolean): readonly SaidCall[]
}

/**
 * Puts the calls of one answer together. A piece belongs to the open call with its index and id, else to the last one
 * with its index, else to the last one with its id, else to the last. It begins a call of its own where
 *
 * - no call is open, or the index is another;
 * - it has a name and another id, unless it goes on with arguments that are not whole yet under the same name;
 * - it has another name and that call's arguments are whole, or there is neither id nor index to hold on to.
 *
 * Names that come again are read once, names that come in pieces are joined. Throws the Problem `provider-unreadable`.
 */
export function createSaidCalls(): SaidCalls {
  const calls: OpenCall[] = []

  function callFor(piece: CallPiece): OpenCall | null {
    const { index, id } = piece
    if (index === null && id === '') return calls.at(-1) ?? null
    const sameIndex = (call: OpenCall) => index === null || call.index === index
    const both = id === '' ? undefined : calls.findLast((call) => sameIndex(call) && call.id === id)
    return both ?? (index === null ? null : (calls.findLast(sameIndex) ?? null))
  }

  function begins(piece: CallPiece, call: OpenCall): boolean {
    const hasOtherId = piece.id !== '' && call.id !== '' && piece.id !== call.id
    const hasOtherName = piece.name !== '' && call.name !== '' && piece.name !== call.name
    if (hasOtherId && piece.name !== '') {
      const goesOn = !hasOtherName && call.brackets.areOpen() && !piece.arguments.trimStart().startsWith('{')
      return !goesOn
    }
    if (piece.name === '' || call.name === '') return false
    if (piece.id !== '' && piece.id === call.id) return hasOtherName && call.brackets.areClosed()
    if (hasOtherName) return call.brackets.areClosed() || piece.index === null
    // The same name again, whole again, and nothing to tell the calls apart by.
    return piece.index === null && piece.id === '' && call.brackets.areClosed() && piece.arguments !== ''
  }

  return {
    take(piece) {
      const known = callFor(piece)
      let call = known
      if (known === null || begins(piece, known)) {
        if (piece.id === '' && piece.name === '' && piece.arguments.trim() === '') return
        if (calls.length >= callsMax) throw unreadable(`it has more than ${callsMax} tool calls`)
        call = { index: piece.index, id: '', name: '', seal: '', pieces: [], brackets: createBrackets() }
        calls.push(call)
      }
      if (call === null) return
      if (call.id === '') call.id = piece.id
      if (piece.seal !== '') call.seal = piece.seal
      call.name = joinedName(call, piece.name)
      if (piece.arguments === '') return
      call.pieces.push(piece.arguments)
      call.brackets.take(piece.arguments)
    },
    hasAny: () => calls.length > 0,
    settled(isCut) {
      return calls.flatMap((call, at) => {
        const { id, seal } = call
        const name = plainName(call.name)
        const isCutShort = isCut && at === calls.length - 1 && !call.brackets.areClosed()
        const written = isCutShort ? [call.pieces.join('')] : settleArguments(call.pieces)
        return written.map((text, part) => ({
          id: part === 0 ? id : '',
          name,
          arguments: text,
          seal: part === 0 ? seal : '',
        }))
      })
    },
  }
}

function joinedName(call: OpenCall, piece: string): string {
  const { name } = call
  if (piece === '' || name === piece || name.startsWith(piece) || name.length > nameMaxChars) return name
  if (name === '' || piece.startsWith(name)) return piece
  // Behind the first argument a name cannot go on.
  return call.pieces.length === 0 ? name + piece : name
}

/**
 * Removes the marks of a model's chat template: `functions.` before the name and `<|channel|>…` after it. A call
 * without a name gets a name that no tool has, so that the model receives an error for it.
 */
function plainName(name: string): string {
  const plain = name
    .replace(/<\|[^]*$/, '')
    .trim()
    .replace(/^functions[.:]/, '')
  return plain === '' ? 'unnamed_call' : plain
}

interface Brackets {
  take(text: string): void
  /** The object has begun and is not whole. */
  areOpen(): boolean
  areClosed(): boolean
}

/** Tracks open brackets across pieces of a JSON text; reads each character once. */
function createBrackets(): Brackets {
  let depth = 0
  let hasBegun = false
  let isText = false
  let isEscaped = false
  return {
    take(text) {
      for (const character of text) {
        if (isEscaped) isEscaped = false
        else if (isText) {
          if (character === '\\') isEscaped = true
          else if (character === '"') isText = false
        } else if (character === '"') isText = true
        else if (character === '{' || character === '[') {
          depth++
          hasBegun = true
        } else if (character === '}' || character === ']') depth--
      }
    },
    areOpen: () => hasBegun && depth > 0,
    areClosed: () => hasBegun && depth <= 0,
  }
}
