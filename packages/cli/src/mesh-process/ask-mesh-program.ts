import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { programNodeFlags } from '@flotilla/protocol/built-program'
import { CommandFailed } from '../command-failed.ts'
import { parseJsonLine, parseMeshLine } from './mesh-lines.ts'
import type { MeshLine } from './mesh-lines.ts'
import { meshForReading, meshMain } from './mesh-paths.ts'

export interface AskOptions {
  readonly verb:
    | 'doctor'
    | 'verify-journal'
    | 'begin-journal'
    | 'reset'
    | 'stop-agents'
    | 'session'
    | 'backup'
    | 'restore'
    | 'verify-backup'
    | 'prune'
    | 'image'
    | 'image-with-mesh'
  readonly home: string
  readonly extra?: readonly string[]
  readonly environment: Record<string, string>
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** Called with each line of the mesh program as soon as the program prints it. */
  readonly heard?: (line: MeshLine) => void
}

/** Verbs whose answer counts only if the mesh program also exits without an error. */
const changing: readonly AskOptions['verb'][] = [
  'reset',
  'stop-agents',
  'begin-journal',
  'backup',
  'restore',
  'verify-backup',
  'prune',
  'image',
  'image-with-mesh',
]

/** Verbs that read the home and start nothing. */
const reading: readonly AskOptions['verb'][] = ['verify-journal', 'verify-backup', 'session']

/** Runs the mesh program for one answer: the last JSON object it prints. Rejects with CommandFailed. */
export async function askMeshProgram(options: AskOptions): Promise<unknown> {
  const program = reading.includes(options.verb) ? meshForReading() : meshMain()
  const child = spawn(
    process.execPath,
    [...programNodeFlags, program, options.verb, '--home', options.home, ...(options.extra ?? [])],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: options.environment,
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]),
    },
  )
  const code = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (exit) => resolve(exit ?? 1))
  })
  const [out, err, exit] = await Promise.all([linesIn(child.stdout, options.heard), text(child.stderr), code])
  const lines = out.trim().split('\n')
  for (const line of lines) {
    const parsed = parseMeshLine(line)
    if (parsed.kind === 'problem') throw new CommandFailed(parsed.code, parsed)
  }
  const answer = parseJsonLine(out.trim()) ?? parseJsonLine(lines.at(-1) ?? '')
  if (answer !== undefined && (exit === 0 || !changing.includes(options.verb))) return answer
  if (exit === 0) return {}
  throw new CommandFailed(`${options.verb}-failed`, {
    detail: `${options.verb} ended with exit code ${exit}: ${(err === '' ? out : err).trim().slice(-800)}`,
    repair: 'Run flotilla doctor, and read the log in the home folder.',
  })
}

async function linesIn(
  stream: NodeJS.ReadableStream,
  onLine: ((line: MeshLine) => void) | undefined,
): Promise<string> {
  const lines: string[] = []
  for await (const line of createInterface({ input: stream })) {
    onLine?.(parseMeshLine(line))
    lines.push(line)
  }
  return lines.join('\n')
}
