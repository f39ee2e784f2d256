import { unreadable } from './unreadable.ts'
import { createBrackets } from './brackets.ts'
import type { Brackets } from './brackets.ts'
import { isNothing, settleArguments } from './call-arguments.ts'
import { joinContinued } from './join-continued.ts'

/** A piece of a tool call, as one event reports it. */
export interface CallPiece {
  /** The position of the call in the answer; null if the provider omits it. */
  readonly index: number | null
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** Google's signature of the call, which must be sent back with the call. */
  readonly seal: string
}

/** A call as the model made it. */
export interface CollectedCall {
  /** The id that the provider gave; it may be empty or the same for two calls. */
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
  /** Tracks the brackets of the arguments received so far. */
  readonly brackets: Brackets
}

/** The most calls in one answer; an answer with more is rejected as broken. */
const callsMax = 256
/** The longest tool name that is read, in characters; providers accept at most 64. */
const nameMaxChars = 512

/** Names that servers print for a missing name. */
const noNames: ReadonlySet<string> = new Set(['null', 'None', 'undefined'])

export interface CallCollector {
  take(piece: CallPiece): void
  /** Whether any call has begun. */
  hasAny(): boolean
  /** Whether the arguments of all calls are complete. */
  areWhole(): boolean
  /** Returns all calls. `isCut`: the answer reached its token bound, so the last call may be incomplete. */
  settled(isCut: boolean): readonly CollectedCall[]
}

/**
 * Assembles the calls of one answer. A piece belongs to the open call with its index and id, else to the last one
 * with its index, else to the last one with its id, else to the last call, if it has no id or continues incomplete
 * arguments. A piece begins a new call if
 *
 * - no call is open, or the index is another and the piece has an id or a name, or no call lacks arguments;
 * - it has a name and another id, unless it continues incomplete arguments under the same name;
 * - it has another name, and the arguments of the open call are complete or the piece has neither id nor index;
 * - it has another name, no piece of the call had an id, and the open call has no arguments yet.
 *
 * At the end, calls that continue the incomplete arguments of the call before them are joined with it
 * (`joinContinued`). A repeated name counts once; a name that arrives in pieces is joined. Throws the Problem `provider-unreadable`.
 */
export function createCallCollector(): CallCollector {
  const calls: OpenCall[] = []

  function callFor(piece: CallPiece): OpenCall | null {
    const { index, id } = piece
    if (index === null && id === '') return calls.at(-1) ?? null
    const sameIndex = (call: OpenCall) => index === null || call.index === index
    const both = id === '' ? undefined : calls.findLast((call) => sameIndex(call) && call.id === id)
    if (both !== undefined) return both
    if (index === null) return continuedUnderNewId(piece) ? (calls.at(-1) ?? null) : null
    const isContinued = id === '' && piece.name === ''
    // Arguments under an index of their own belong to the last call that still lacks some.
    const lacking = isContinued ? calls.findLast((call) => !call.brackets.areClosed()) : undefined
    return calls.findLast(sameIndex) ?? lacking ?? null
  }

  /** Whether arguments without a name or index belong to the last call, whose arguments are incomplete. */
  function continuedUnderNewId(piece: CallPiece): boolean {
    return piece.name === '' && piece.arguments !== '' && calls.at(-1)?.brackets.areClosed() === false
  }

  function begins(piece: CallPiece, call: OpenCall): boolean {
    const hasOtherId = piece.id !== '' && call.id !== '' && piece.id !== call.id
    const hasOtherName = piece.name !== '' && call.name !== '' && piece.name !== call.name
    if (hasOtherId && piece.name !== '') {
      const continues =
        !hasOtherName && call.brackets.areOpen() && !piece.arguments.trimStart().startsWith('{')
      return !continues
    }
    if (piece.name === '' || call.name === '') return false
    if (piece.id !== '' && piece.id === call.id) return hasOtherName && call.brackets.areClosed()
    // Servers that send a name in pieces give the call an id; without any id, another name is another call.
    const isUnnumbered = piece.id === '' && call.id === '' && call.pieces.length === 0
    const continues = piece.name.startsWith(call.name)
    if (hasOtherName) return call.brackets.areClosed() || piece.index === null || (isUnnumbered && !continues)
    // The piece repeats the same name after complete arguments, and has no id or index: it is a second call.
    return piece.index === null && piece.id === '' && call.brackets.areClosed() && piece.arguments !== ''
  }

  return {
    take(given) {
      const piece = noNames.has(given.name) ? { ...given, name: '' } : given
      const known = callFor(piece)
      let call = known
      if (known === null || begins(piece, known)) {
        if (piece.id === '' && piece.name === '' && piece.arguments.trim() === '') return
        if (calls.length >= callsMax) throw unreadable(`the answer has more than ${callsMax} tool calls`)
        call = { index: piece.index, id: '', name: '', seal: '', pieces: [], brackets: createBrackets() }
        calls.push(call)
      }
      if (call === null) return
      if (call.id === '') call.id = piece.id
      if (piece.seal !== '') call.seal = piece.seal
      call.name = joinedName(call, piece.name)
      if (piece.arguments === '') return
      // Some servers print null for the arguments that are to come, or for the end of those that came.
      if (call.pieces.every(isNothing)) call.pieces.length = 0
      else if (isNothing(piece.arguments) && call.brackets.areClosed()) return
      call.pieces.push(piece.arguments)
      call.brackets.take(piece.arguments)
    },
    hasAny: () => calls.length > 0,
    areWhole: () => calls.length > 0 && joinContinued(calls).every((call) => call.brackets.areClosed()),
    settled(isCut) {
      const joined = joinContinued(calls)
      return joined.flatMap((call, at) => {
        const { id, seal } = call
        const name = plainName(call.name)
        const isCutShort = isCut && at === joined.length - 1 && !call.brackets.areClosed()
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
  // A name cannot continue once arguments have arrived.
  return call.pieces.length === 0 ? name + piece : name
}

/**
 * Removes the marks of a model's chat template: the role and channel before `to=`, `function=`, `functions.` and
 * Gemini's `default_api.` before the name, the index of Kimi, `()` and `<|channel|>…` after it, quotation marks around
 * it, and a dollar sign, with which a provider could take the call for one of its own tools. A call without a name gets a name that no tool has, so that the model receives an error for it.
 */
function plainName(name: string): string {
  const recipient = /(?:^|[\s>])to=(\S+)/.exec(name)?.[1] ?? name
  const plain = recipient
    .replace(/<\|[^]*$/, '')
    .replace(/^\s*<?function=|>\s*$/g, '')
    .trim()
    .replace(/^[\s$"'`]+|[\s"'`]+$/g, '')
  const inner = namespaced.exec(plain)?.groups?.['name'] ?? plain
  const bare = inner.replace(/(?:\(\)|:\d{1,4})$/, '')
  return bare === '' ? 'unnamed_call' : bare
}

/** A name in a namespace, possibly with the index of the call behind it. */
const namespaced = /^(?:functions|default_api|tools)[.:](?<name>.*?)(?::\d{1,4})?$/s
