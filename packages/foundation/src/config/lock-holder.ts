import { createHash, randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { connect } from 'node:net'
import process from 'node:process'
import { holderOf, listenersOn, unreadableHolder } from '@flotilla/protocol/socket-holder'
import type { Listener } from '@flotilla/protocol/socket-holder'

/** The number of names that are the same for every process, so that only one process can take each. */
const fixedNamesMax = 16
/** A Flotilla process answers at once; the activity of a slower holder is unknown. */
const answerMaxMs = 5000
/** The maximum length of the answer of the process that holds a lock, in characters. */
const answerMaxChars = 64

export interface LockHolder {
  readonly pid: number
  /** The activity that the holder reports; empty if it does not answer like a Flotilla process. */
  readonly word: string
}

/**
 * The abstract sockets of the lock of a home with a resolved path, in the order in which they are tried. The last
 * one is random: no other user can take all names in advance.
 */
export function* lockNames(place: string): Generator<string> {
  const first = firstName(place)
  yield first
  for (let number = 1; number < fixedNamesMax; number++) yield `${first}-${number}`
  yield `${first}-${randomBytes(16).toString('hex')}`
}

function firstName(place: string): string {
  return `\0flotilla-${createHash('sha256').update(place).digest('hex').slice(0, 32)}`
}

/**
 * Returns the trusted process that holds a name of the lock: one that root, the user of this process or the owner of
 * the home runs. `stranger` if only other users' processes hold it, null if no process does.
 */
export async function findHolder(
  place: string,
  names: { readonly of: string } | { readonly except: string },
): Promise<LockHolder | 'stranger' | null> {
  const first = firstName(place)
  const matches = (name: string): boolean =>
    'of' in names
      ? name === names.of
      : name !== names.except && (name === first || name.startsWith(`${first}-`))
  let listeners: readonly Listener[]
  try {
    listeners = listenersOn(fs, matches)
  } catch {
    // This system does not report which process has the socket, so the answer on the socket must suffice.
    return 'of' in names ? answerOf(names.of) : null
  }
  if (listeners.length === 0) return null
  const trusted = trustedUids(place)
  const inodes = listeners.map(({ inode }) => inode)
  const holder = holderOf(fs, inodes, trusted)
  if (holder === null) {
    // A mesh that root runs on the home of a user, or that runs in a container, is recognized by its answer and by
    // its command line.
    const unreadable = await unreadableHolder(fs, listeners, {
      ownUid: process.getuid?.() ?? 0,
      trustedUids: trusted,
      answerOf,
      isMeant: (words) => namesHome(words, place),
    })
    return unreadable ?? 'stranger'
  }
  const held = listeners.find(({ inode }) => inode === holder.inode)
  const answer = held === undefined ? null : await answerOf(held.name)
  return { pid: holder.pid, word: answer?.pid === holder.pid ? answer.word : '' }
}

/** Returns the ids of trusted users: root, the user of this process, and the owner of the home. */
function trustedUids(place: string): readonly number[] {
  const own = [0, process.getuid?.() ?? 0]
  try {
    return [...own, fs.statSync(homeIn(place)).uid]
  } catch {
    return own
  }
}

/** The home in a lock's name; another lock of the same home has a NUL and its own name after the path. */
function homeIn(place: string): string {
  return place.split('\0', 1)[0] ?? place
}

/** Also true for a mesh whose command line names no home: its environment does, which this user cannot read. */
function namesHome(words: readonly string[], place: string): boolean {
  const at = words.indexOf('--home')
  if (at === -1) return words.includes('serve')
  const home = at === -1 ? undefined : words[at + 1]
  return home !== undefined && (home === homeIn(place) || fs.realpathSync(home) === homeIn(place))
}

/** Null if the holder has ended, or does not answer like a Flotilla process. */
function answerOf(name: string): Promise<LockHolder | null> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(name)
    const end = () => {
      socket.destroy()
      resolve(parseAnswer(answer))
    }
    socket.setTimeout(answerMaxMs, end)
    socket.on('data', (piece: Buffer) => {
      answer += piece.toString('utf8')
      if (answer.length > answerMaxChars) end()
    })
    socket.on('end', end)
    socket.on('error', end)
  })
}

function parseAnswer(answer: string): LockHolder | null {
  const [, pid = '', word = ''] = /^(\d{1,10}) ([a-z-]+)\n$/.exec(answer) ?? []
  return word === '' ? null : { pid: Number(pid), word }
}
