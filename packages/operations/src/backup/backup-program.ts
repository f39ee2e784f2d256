import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { jsonLimits } from '@flotilla/protocol/limits'
import * as z from 'zod'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import type { MovedBytes } from './report-bytes.ts'

/** The variables of the mesh's environment that are passed to the backup program; no credential is among them. */
const passedVariables = ['PATH', 'HOME', 'XDG_CACHE_HOME', 'TMPDIR', 'LANG'] as const

export interface BackupRequest {
  readonly deed: 'make' | 'verify'
  readonly file: string
  /** Null to make a backup without secrets, or to verify an unencrypted one. */
  readonly passphrase: string | null
  readonly step: (text: string) => void
  readonly moved: (moved: MovedBytes) => void
  /** Aborting the signal ends the backup program and removes the incomplete file. */
  readonly signal: AbortSignal
}

/** The result of a backup program, as text for the caller. */
export interface BackupEnd {
  readonly ok: boolean
  readonly message: string
}

/**
 * Creates or verifies a backup in a separate process, so that the mesh's event loop only receives its progress. Never
 * rejects.
 */
export type RunBackupProgram = (request: BackupRequest) => Promise<BackupEnd>

const lineSchema = z.looseObject({
  progress: z.string().optional(),
  moved: z.object({ bytes: z.number(), of: z.number().nullable() }).optional(),
  problem: z.object({ detail: z.string().optional(), repair: z.string().optional() }).optional(),
  /** Fields of a backup that was made. */
  agents: z.int().optional(),
  files: z.int().optional(),
  secrets: z.boolean().optional(),
  not_held: z.array(z.string()).optional(),
  /** The results of making and of verifying a backup both have this field. */
  skipped: z
    .array(
      z.looseObject({
        agent: z.string().nullable(),
        count: z.int(),
        first: z.array(z.looseObject({ name: z.string(), why: z.string() })),
        ended_by: z.string().nullable(),
      }),
    )
    .optional(),
  left_out: z.array(z.looseObject({ agent: z.string(), why: z.string() })).optional(),
  /** Fields of a backup that was verified. */
  ok: z.boolean().optional(),
  entries: z.int().optional(),
  about: z.looseObject({ product: z.string(), agents: z.int(), secrets: z.boolean() }).optional(),
})
type Line = z.infer<typeof lineSchema>

/**
 * `program` is the command that starts the mesh's own program; its commands `backup` and `verify-backup` report their
 * progress in lines of JSON.
 */
export function createRunBackupProgram(from: {
  readonly program: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
}): RunBackupProgram {
  const [command, ...first] = from.program
  return async ({ deed, file, passphrase, step, moved, signal }) => {
    const verb = deed === 'make' ? 'backup' : 'verify-backup'
    const secrets = deed === 'make' && passphrase === null ? ['--secrets', 'none'] : []
    const start = () =>
      spawn(command, [...first, verb, '--home', from.home, '--file', file, ...secrets], {
        stdio: ['ignore', 'pipe', 'ignore'],
        env: {
          ...Object.fromEntries(passedVariables.map((name) => [name, from.env[name]])),
          ...(passphrase === null ? {} : { FLOTILLA_BACKUP_PASSPHRASE: passphrase }),
        },
      })
    let child: ReturnType<typeof start>
    try {
      child = start()
    } catch (error) {
      return { ok: false, message: `The backup program could not be started: ${String(error)}` }
    }
    const stop = (): void => void child.kill('SIGTERM')
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const ended = new Promise<string | null>((resolve) => {
      child.once('error', (error) => resolve(error.message))
      child.once('close', (code) =>
        resolve(
          code === 0
            ? null
            : `the backup program ended with exit code ${code ?? 'unknown (ended by a signal)'}`,
        ),
      )
    })
    let last: Line = {}
    try {
      for await (const text of createInterface({ input: child.stdout })) {
        const line = lineSchema.safeParse(readJsonQuietly(text, jsonLimits.serverReply))
        if (!line.success) continue
        const { progress, moved: bytes, ...rest } = line.data
        if (progress !== undefined) step(progress)
        else if (bytes) moved(bytes)
        else last = rest
      }
      const fault = await ended
      return last.problem || fault !== null
        ? { ok: false, message: problemWords(last, fault) }
        : { ok: true, message: endWords(deed, last) }
    } catch (error) {
      return { ok: false, message: `The backup could not be read completely: ${String(error)}` }
    } finally {
      signal.removeEventListener('abort', stop)
      stop()
    }
  }
}

function problemWords({ problem }: Line, fault: string | null): string {
  const { detail = fault ?? 'the backup program ended without naming the reason', repair = '' } =
    problem ?? {}
  return `${detail}${/[.!?]$/.test(detail) ? '' : '.'} ${repair}`.trim()
}

function endWords(deed: BackupRequest['deed'], line: Line): string {
  if (deed === 'make') {
    const torn = line.not_held ?? []
    return [
      `The backup contains ${counted(line.agents, 'agent')} and ${counted(line.files, 'file')}, ${line.secrets === true ? 'with' : 'without'} secrets.`,
      ...(torn.length === 0
        ? []
        : [
            `${torn.join(', ')} continued to work while its data was read; files that changed meanwhile may be inconsistent.`,
          ]),
      ...missingWords(line),
    ].join(' ')
  }
  const { about } = line
  return [
    `The backup is complete: ${counted(about?.agents, 'agent')}, written by release ${about?.product ?? 'unknown'}, ${about?.secrets === true ? 'with' : 'without'} secrets.`,
    ...missingWords(line),
  ].join(' ')
}

function counted(count = 0, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

/** A sentence for each agent whose data is incomplete or missing. */
function missingWords({ skipped = [], left_out: leftOut = [] }: Line): readonly string[] {
  return [
    ...leftOut.map(({ agent, why }) => `The data of ${agent} is not in the backup: ${why}.`),
    ...skipped.map(({ agent, count, first: [named], ended_by: endedBy }) => {
      const whose = agent === null ? 'the home' : `the data of ${agent}`
      if (endedBy !== null) return `Only a part of ${whose} is in the backup: ${endedBy}.`
      const example = named === undefined ? '' : ` (such as ${named.name}: ${named.why})`
      return `${count} ${count === 1 ? 'entry' : 'entries'} of ${whose} ${count === 1 ? 'is' : 'are'} not in the backup${example}.`
    }),
  ]
}
