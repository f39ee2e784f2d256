import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { canonicalIdentity, peopleFileSchema } from '@flotilla/protocol/people'
import type { Person } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import { followFile, readJsonDocument } from '../config/index.ts'
import type { FileEditor } from '../config/index.ts'
import type { Log } from '../platform/index.ts'

/**
 * `config/people.json`, the truth about who may come to the people's API beside the owner of this machine.
 *
 * 1. A missing file names nobody. A broken one lets nobody in whom it may have named, from the moment that is noticed.
 * 2. A change by hand is noticed within a second.
 * 3. Edits run one after the other on what stands on disk, so that none undoes another or a hand.
 */
export interface PeopleFile {
  snapshot(): PeopleSnapshot
  /** Problem `unprocessable` where the file is broken: only a hand can mend it. */
  edit(change: (people: readonly Person[]) => readonly Person[]): Promise<void>
  /** Looks at the file now. */
  refresh(): Promise<void>
  close(): Promise<void>
}

export interface PeopleSnapshot {
  readonly people: readonly Person[]
  /** Why nobody is known, with file and line; null while the file is whole or missing. */
  readonly broken: string | null
  byName(name: string): Person | null
  byToken(token: string): Person | null
  /** By the number of an account of this machine. */
  byUser(userId: number): Person | null
  /** By how a channel knows somebody, such as `telegram:123456789`. */
  byIdentity(identity: string): Person | null
}

const fileName = 'config/people.json'

export async function createPeopleFile(deps: {
  readonly path: string
  readonly editor: FileEditor
  readonly clock: Clock
  readonly log: Log
  /** Called with what holds now and what held before, when that is something else. */
  readonly onChange: (now: PeopleSnapshot, before: PeopleSnapshot, byHand: boolean) => void
}): Promise<PeopleFile> {
  const { path, editor, clock, log } = deps
  const unreadable = `${fileName} cannot be read`
  let text: string | null = null
  let current = snapshotOf([], null)
  let isEditing = false

  /** What `onChange` was called with last. */
  let told = current
  let isOwed = false

  function take(next: PeopleSnapshot): 'again' | undefined {
    current = next
    if (next.broken !== null)
      log.error(
        { detail: next.broken },
        'the people file is broken; nobody named in it is let in until it is mended',
      )
    return tell()
  }

  /** What holds holds, also where its record cannot be written now: it is told again at the next look. */
  function tell(): 'again' | undefined {
    if (current === told) return undefined
    try {
      deps.onChange(current, told, !isEditing)
      told = current
      isOwed = false
      return undefined
    } catch (error) {
      if (!isOwed)
        log.error({ err: error }, 'failed to record a change of the people file; it is tried again')
      isOwed = true
      return 'again'
    }
  }

  const { refresh, close } = await followFile({
    path,
    clock,
    take: (now) => {
      if (now === text) return tell()
      text = now
      return take(read(now))
    },
    onUnreadable: (error) => {
      if (current.broken === unreadable) return void tell()
      log.error({ err: error }, 'the people file cannot be read; nobody named in it is let in until it can')
      text = null
      take(snapshotOf([], unreadable))
    },
  })

  return {
    snapshot: () => current,
    refresh,
    edit: async (change) => {
      // A hand may have been there first: what it changed is told as a hand's.
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

/** For whoever asks about people while the file is broken. */
export function brokenProblem(detail: string): Problem {
  return new Problem('unprocessable', {
    detail,
    extra: { file: fileName },
    repair: `Mend ${fileName} by hand at that line; until then nobody but the owner of this machine is let in. The example in docs/people.md shows its form.`,
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

/** The person whom another spelling of the id names; null where two people have both spellings. */
function onlyOne(found: readonly (readonly [string, Person])[] | undefined): Person | null {
  const [first, ...others] = found ?? []
  return first !== undefined && others.every(([, person]) => person === first[1]) ? first[1] : null
}

/** Of 256 random bits: nobody finds the token by it, so it needs neither salt nor time. Pure. */
export function digestOf(token: string): string {
  return createHash('sha256').update(token, 'utf8').digest('hex')
}
