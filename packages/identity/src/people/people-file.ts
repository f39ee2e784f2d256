import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { canonicalIdentity, peopleFileSchema } from '@flotilla/protocol/people'
import type { Person } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import { followFile, readJsonDocument } from '@flotilla/foundation/config'
import type { FileEditor } from '@flotilla/foundation/config'
import type { Log } from '@flotilla/foundation/platform'

/**
 * `config/people.json`, the source of truth for access to the people's API by persons other than the owner of this
 * machine.
 *
 * 1. A missing file names no one. While the file is invalid, none of the people in it has access, from the time at
 * which this is detected.
 * 2. An edit by hand is detected within a second.
 * 3. Edits are serialized and apply to the current file, so that none is lost.
 */
export interface PeopleFile {
  snapshot(): PeopleSnapshot
  /** Throws Problem `unprocessable` if the file is broken; it must be repaired by hand. */
  edit(change: (people: readonly Person[]) => readonly Person[]): Promise<void>
  /** Reads the file now instead of at the next check. */
  refresh(): Promise<void>
  close(): Promise<void>
}

export interface PeopleSnapshot {
  readonly people: readonly Person[]
  /** Why the file is not usable, with file and line; null if it is valid or missing. */
  readonly broken: string | null
  byName(name: string): Person | null
  byToken(token: string): Person | null
  /** Finds the person by the user id of an account of this machine. */
  byUser(userId: number): Person | null
  /** Finds the person by an identity on a channel, such as `telegram:123456789`. */
  byIdentity(identity: string): Person | null
}

const fileName = 'config/people.json'

export async function createPeopleFile(deps: {
  readonly path: string
  readonly editor: FileEditor
  readonly clock: Clock
  readonly log: Log
  /** Called with the current and the previous state when they differ. */
  readonly onChange: (now: PeopleSnapshot, before: PeopleSnapshot, byHand: boolean) => void
}): Promise<PeopleFile> {
  const { path, editor, clock, log } = deps
  const unreadable = `${fileName} cannot be read`
  let text: string | null = null
  let current = snapshotOf([], null)
  let isEditing = false

  /** The state that the last successful call of `onChange` reported. */
  let reported = current
  let isOwed = false

  function take(next: PeopleSnapshot): 'again' | undefined {
    current = next
    if (next.broken !== null)
      log.error(
        { detail: next.broken },
        'config/people.json is invalid; no person in it has access until it is valid',
      )
    return reportChange()
  }

  /** Calls `onChange`. The new state is in effect even if this fails; the next check then repeats the call. */
  function reportChange(): 'again' | undefined {
    if (current === reported) return undefined
    try {
      deps.onChange(current, reported, !isEditing)
      reported = current
      isOwed = false
      return undefined
    } catch (error) {
      if (!isOwed) log.error({ err: error }, 'failed to record a change of the people file; retrying')
      isOwed = true
      return 'again'
    }
  }

  const { refresh, close } = await followFile({
    path,
    clock,
    take: (now) => {
      if (now === text) return reportChange()
      text = now
      return take(read(now))
    },
    onUnreadable: (error) => {
      if (current.broken === unreadable) return void reportChange()
      log.error(
        { err: error },
        'failed to read config/people.json; no person in it has access until it can be read',
      )
      text = null
      take(snapshotOf([], unreadable))
    },
  })

  return {
    snapshot: () => current,
    refresh,
    edit: async (change) => {
      // Reads an earlier edit by hand first, so that it is recorded as such.
      await refresh()
      await editor.edit(path, (found) => {
        const now = read(found)
        if (now.broken !== null) throw brokenProblem(now.broken)
        const next = peopleFileSchema.parse({ people: [...change(now.people)] })
        return `${JSON.stringify(next, null, 2)}\n`
      })
      isEditing = true
      await refresh().finally(() => void (isEditing = false))
    },
    close,
  }
}

/** The problem for calls about people while the file is broken. */
export function brokenProblem(detail: string): Problem {
  return new Problem('unprocessable', {
    detail,
    extra: { file: fileName },
    repair: `Repair ${fileName} by hand at that line; until then only the owner of this machine has access. See the example in docs/people.md.`,
  })
}

function read(text: string | null): PeopleSnapshot {
  if (text === null) return snapshotOf([], null)
  const reading = readJsonDocument(text, peopleFileSchema)
  return reading.ok
    ? snapshotOf(reading.document.value.people, null)
    : snapshotOf([], `${fileName} line ${reading.line}: ${reading.reason}`)
}

function snapshotOf(people: readonly Person[], broken: string | null): PeopleSnapshot {
  const byDigest = new Map(
    people.flatMap((person) =>
      person.token_sha256 === null ? [] : [[person.token_sha256, person] as const],
    ),
  )
  const byIdentity = new Map(
    people.flatMap((person) => person.identities.map((identity) => [identity, person] as const)),
  )
  const byCanonical = Map.groupBy(byIdentity, ([identity]) => canonicalIdentity(identity))
  const byName = new Map(people.map((person) => [person.name, person]))
  return {
    people,
    broken,
    byName: (name) => byName.get(name) ?? null,
    byToken: (token) => byDigest.get(digestOf(token)) ?? null,
    byUser: (userId) => byIdentity.get(`user:${userId}`) ?? null,
    byIdentity: (identity) =>
      byIdentity.get(identity) ?? onlyOne(byCanonical.get(canonicalIdentity(identity))),
  }
}

/** Returns the person whose identity has another spelling of the id; null if two different people match. */
function onlyOne(found: readonly (readonly [string, Person])[] | undefined): Person | null {
  const [first, ...others] = found ?? []
  return first !== undefined && others.every(([, person]) => person === first[1]) ? first[1] : null
}

/** The token has 256 random bits, so its digest needs neither a salt nor a slow hash. Pure. */
export function digestOf(token: string): string {
  return createHash('sha256').update(token, 'utf8').digest('hex')
}
