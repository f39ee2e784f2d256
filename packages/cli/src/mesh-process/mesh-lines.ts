import * as z from 'zod/mini'

/** A line that the mesh writes for the process that started it; all other lines are its log. */
export type MeshLine =
  /** `failed` is an earlier step that failed, and why. */
  | {
      readonly kind: 'progress'
      readonly words: string
      readonly failed?: { readonly step: string; readonly why: string }
    }
  /** The progress of a copy; `of` is null if the total is unknown. */
  | { readonly kind: 'moved'; readonly bytes: number; readonly of: number | null }
  /** Findings of a check that goes on. */
  | { readonly kind: 'found'; readonly findings: readonly unknown[] }
  | {
      readonly kind: 'ready'
      readonly url: string
      readonly pid: number
      /** Notices for the person who started the mesh, one sentence each. */
      readonly notices: readonly string[]
    }
  | { readonly kind: 'problem'; readonly code: string; readonly detail: string; readonly repair: string }
  | { readonly kind: 'log'; readonly level: number; readonly words: string }

const progressSchema = z.looseObject({
  progress: z.string(),
  failed: z.optional(z.looseObject({ step: z.string(), why: z.string() })),
})
const movedSchema = z.looseObject({
  moved: z.looseObject({ bytes: z.number(), of: z.nullable(z.number()) }),
})
const foundSchema = z.looseObject({ found: z.array(z.unknown()) })
const readySchema = z.looseObject({
  ready: z.literal(true),
  url: z.string(),
  pid: z.int(),
  notices: z._default(z.array(z.string()), []),
})
const problemSchema = z.looseObject({
  problem: z.looseObject({ code: z.string(), detail: z.string(), repair: z._default(z.string(), '') }),
})
const writerSchema = z.looseObject({ pid: z.int() })
const logSchema = z.looseObject({
  level: z._default(z.union([z.number(), z.string()]), 30),
  msg: z._default(z.string(), ''),
})

export function parseMeshLine(line: string): MeshLine {
  const value = parseJsonLine(line)
  const progress = progressSchema.safeParse(value)
  if (progress.success) {
    const { progress: text, failed } = progress.data
    return {
      kind: 'progress',
      words: text,
      ...(failed && { failed: { step: failed.step, why: failed.why } }),
    }
  }
  const moved = movedSchema.safeParse(value)
  if (moved.success) return { kind: 'moved', bytes: moved.data.moved.bytes, of: moved.data.moved.of }
  const found = foundSchema.safeParse(value)
  if (found.success) return { kind: 'found', findings: found.data.found }
  const ready = readySchema.safeParse(value)
  if (ready.success) {
    const { url, pid, notices } = ready.data
    return { kind: 'ready', url, pid, notices }
  }
  const problem = problemSchema.safeParse(value)
  if (problem.success) {
    const { code, detail, repair } = problem.data.problem
    return { kind: 'problem', code, detail, repair }
  }
  const log = logSchema.safeParse(value)
  if (log.success) return { kind: 'log', level: levelOf(log.data.level), words: log.data.msg }
  return { kind: 'log', level: 30, words: line }
}

/** The process that wrote a line; null for a line without an id, such as the output of a crash. */
export function writerOf(line: string): number | null {
  return writerSchema.safeParse(parseJsonLine(line)).data?.pid ?? null
}

/**
 * Yields the lines of one start from a log that several starts write to at once. A line without a process id belongs
 * to this start until a line of another process appears.
 */
export async function* linesOf(
  lines: AsyncGenerator<string, void, undefined>,
  isOwn: (pid: number) => boolean,
): AsyncGenerator<string, void, undefined> {
  let alone = true
  for await (const line of lines) {
    const writer = writerOf(line)
    if (writer === null ? alone : isOwn(writer)) yield line
    else if (writer !== null) alone = false
  }
}

/** The JSON value on a line, or undefined. */
export function parseJsonLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const levels: Readonly<Record<string, number>> = { debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }

function levelOf(level: number | string): number {
  return typeof level === 'number' ? level : (levels[level] ?? 30)
}
