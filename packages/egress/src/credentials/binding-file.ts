import { dirname } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import {
  createDeviceGuard,
  readJsonDocument,
  readTextFile,
  sameStamp,
  stampOf,
} from '@flotilla/foundation/config'
import type { FileEditor, FileStamp } from '@flotilla/foundation/config'
import type { Log } from '@flotilla/foundation/platform'
import { isCredentialName } from './credential-tiers.ts'
import { canonicalName } from './handles.ts'
import { parseHostPattern } from './host-pattern.ts'
import { parseProgramUse } from './program-use.ts'

/** The maximum number of hosts to which the owner can bind one credential. A real service needs only a few. */
export const hostsMax = 50
/** The maximum number of places for the placeholder of one credential. */
const usesMax = 10
/** The maximum number of credentials that the owner can bind to hosts. */
const bindingsMax = 2000

const hostSchema = z
  .string()
  .max(300)
  .refine((text) => parseHostPattern(text) !== null, {
    message:
      'a host must have the form host, host:port or *.domain, with http:// before it if the connection is not encrypted',
  })

export const bindingSchema = z.strictObject({
  hosts: z.array(hostSchema).max(hostsMax),
  /** A note for people: the purpose and the account. */
  note: z.string().max(500).default(''),
  /** The places of the placeholder for programs of agents; see `program-use`. */
  programs: z
    .array(
      z
        .string()
        .max(150)
        .refine((text) => parseProgramUse(text) !== null, {
          message:
            'a use by programs must have the form env:VARIABLE, git, git:USER, npm, netrc or netrc:USER, and not name a variable of the system',
        }),
    )
    .max(usesMax)
    .default([]),
})
export type Binding = z.infer<typeof bindingSchema>

const fileSchema = z.strictObject({
  credentials: z
    .record(
      z.string().refine(isCredentialName, {
        message: 'the name of a credential may have only letters, digits and _',
      }),
      bindingSchema,
    )
    .refine((all) => Object.keys(all).length <= bindingsMax, {
      message: `at most ${bindingsMax} credentials can be bound`,
    })
    .refine((all) => new Set(Object.keys(all).map(canonicalName)).size === Object.keys(all).length, {
      message: 'the name of a credential appears twice (case does not matter)',
    }),
})

/**
 * `config/credentials.json`: the owner decides where each credential may be sent.
 *
 * 1. An invalid file binds nothing, as soon as it is noticed; a missing file binds nothing either.
 * 2. A manual edit is noticed within a second.
 * 3. Edits run one after the other on the file's current content.
 */
export interface BindingStore {
  bindingOf(name: string): Binding | null
  /** Returns the file, line and reason of an error because of which no credential is bound; null without an error. */
  broken(): string | null
  /** Sets the binding of one credential, or deletes it for null. Problem `unprocessable` if the file is invalid. */
  edit(name: string, binding: Binding | null): Promise<void>
  refresh(): Promise<void>
  close(): Promise<void>
}

export interface BindingFileDeps {
  readonly path: string
  readonly editor: FileEditor
  readonly clock: Clock
  readonly log: Log
}

/** How often the file of bindings is checked for changes, in milliseconds. */
const pollIntervalMs = 500

type Bindings = ReadonlyMap<string, Binding>
type Reading = { readonly bindings: Bindings; readonly broken: string | null }

export async function createBindingFile(deps: BindingFileDeps): Promise<BindingStore> {
  const { path, editor, clock, log } = deps
  const stopping = new AbortController()
  const requireDevice = createDeviceGuard(dirname(path))
  /** The stamp of the file at the last read; undefined after a failed read, so that the next poll reads it again. */
  let stamp: FileStamp | null | undefined
  let current: Reading = { bindings: new Map(), broken: null }
  let reading: Promise<void> = Promise.resolve()

  async function load(): Promise<void> {
    const before = current.broken
    try {
      // Takes the stamp before reading, so that the next poll detects a write that happens during the read.
      await requireDevice()
      stamp = await stampOf(path)
      current = readBindings(await readTextFile(path))
    } catch (error) {
      stamp = undefined
      const unreadable = 'config/credentials.json cannot be read'
      if (before === unreadable) return
      log.error(
        { err: error },
        'failed to read config/credentials.json; no credential is filled in until it can be read',
      )
      current = { bindings: new Map(), broken: unreadable }
    }
    if (current.broken !== before && current.broken !== null)
      log.error(
        { detail: current.broken },
        'config/credentials.json is invalid; no credential is filled in until it is valid',
      )
  }

  function refresh(): Promise<void> {
    reading = reading.then(load)
    return reading
  }

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(pollIntervalMs, stopping.signal).catch(() => {})
      if (stopping.signal.aborted) return
      const found = await stampOf(path).catch(() => null)
      if (stamp === undefined || !sameStamp(found, stamp)) await refresh()
    }
  }

  await refresh()
  const polling = poll()

  return {
    bindingOf: (name) => current.bindings.get(canonicalName(name)) ?? null,
    broken: () => current.broken,
    refresh,
    async edit(name, binding) {
      await editor.edit(path, (text) => rewritten(text, canonicalName(name), binding))
      await refresh()
    },
    async close() {
      stopping.abort()
      await polling
    },
  }
}

export function readBindings(text: string | null): Reading {
  if (text === null) return { bindings: new Map(), broken: null }
  const reading = readJsonDocument(text, fileSchema)
  if (!reading.ok)
    return { bindings: new Map(), broken: `config/credentials.json line ${reading.line}: ${reading.reason}` }
  const entries = Object.entries(reading.document.value.credentials)
  return { bindings: new Map(entries.map(([name, binding]) => [canonicalName(name), binding])), broken: null }
}

function rewritten(text: string | null, name: string, binding: Binding | null): string {
  const { bindings, broken } = readBindings(text)
  if (broken !== null)
    throw new Problem('unprocessable', { detail: `${broken}; correct the file by hand first` })
  const next = new Map(bindings)
  if (binding === null) next.delete(name)
  else next.set(name, binding)
  const document = fileSchema.safeParse({ credentials: Object.fromEntries(next) })
  if (!document.success) {
    throw new Problem('unprocessable', {
      detail: document.error.issues.map((issue) => issue.message).join('; '),
    })
  }
  return `${JSON.stringify(document.data, null, 2)}\n`
}
