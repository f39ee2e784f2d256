import { open, stat } from 'node:fs/promises'
import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction, flagOption, numberOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { keptLimits } from '@flotilla/protocol/kept-api'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodeOf } from '../exit-code-of.ts'
import { exitCodes } from '../exit-codes.ts'
import { followLines } from '../mesh-process/follow-file.ts'
import { parseJsonLine } from '../mesh-process/mesh-lines.ts'
import { meshLogPath } from '../mesh-process/mesh-paths.ts'
import { wholeNumber } from '../number-argument.ts'
import { oneLine, printable } from '../terminal/color.ts'
import type { Color } from '../terminal/color.ts'
import { formatTime } from '../terminal/format.ts'

const linesDefault = 50
const linesMax = 10_000
/** The maximum number of bytes that are read from the end of a long log. */
const readMaxBytes = 8 * 1024 * 1024
const fieldsColumnsMax = 160
const nameColumnsMax = 64
/** The interval at which the output of a container is polled. */
const printedEveryMs = 500

const logLineSchema = z.looseObject({
  time: z.optional(z.union([z.number(), z.string()])),
  level: z.optional(z.union([z.number(), z.string()])),
  msg: z.optional(z.string()),
  progress: z.optional(z.string()),
  /** Set on the line with which the mesh tells the process that started it that it is ready. */
  ready: z.optional(z.unknown()),
  url: z.optional(z.unknown()),
  agentId: z.optional(z.string()),
})

export function addLogsCommand(program: Command, deps: CliDeps): void {
  program
    .command('logs')
    .description(
      'Shows the log of the mesh of a home folder from the file data/mesh.log on this machine, with or without a running mesh. With an agent: only lines about it, and the output of its container, which requires a running mesh. For the actions of agents see flotilla events and flotilla runs.',
    )
    .argument('[agent]', 'only lines about this agent, and its own output')
    .option('-f, --follow', 'keep showing new lines until Ctrl-C')
    .option('--lines <count>', 'how many of the last lines', wholeNumber(1, linesMax), linesDefault)
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla logs -f\n  $ flotilla logs auditor --lines 200\n  $ flotilla logs --json | jq "select(.level >= 40)"',
    )
    .action(commandAction(deps, logs))
}

async function logs(context: CommandContext, line: CommandLine): Promise<void> {
  const { clock } = context
  const [agent] = line.operands
  const count = numberOption(line, 'lines') ?? linesDefault
  const isMeant = (text: string) => agent === undefined || isAbout(text, agent)
  const printed = agent === undefined ? null : await printedBy(context, agent, count)
  const file = await logFile(context, printed !== null)
  const ended = AbortSignal.abort()
  const last: string[] = []
  if (file !== null) {
    const from = Math.max(0, file.size - readMaxBytes)
    for await (const text of followLines(await open(file.path), { from, clock, signal: ended })) {
      if (!isMeant(text)) continue
      last.push(text)
      if (last.length > count) last.shift()
    }
  }
  const lines = byTime([...last, ...(printed?.lines ?? [])]).slice(-count)
  for (const text of lines) show(context, text)
  if (lines.length === 0 && agent !== undefined)
    context.terminal.note(`The log has no line about ${oneLine(agent, nameColumnsMax)}.`)
  if (!flagOption(line, 'follow')) return
  const stop = new AbortController()
  const giveBack = context.onInterrupt(() => stop.abort())
  const signal = AbortSignal.any([stop.signal, context.signal])
  const ofMesh = async () => {
    if (file === null) return
    for await (const text of followLines(await open(file.path), { from: file.size, clock, signal })) {
      if (isMeant(text)) show(context, text)
    }
  }
  await Promise.all([ofMesh(), printed?.follow(signal)])
  giveBack()
}

/** The log file of the mesh of this home. Null if it does not exist and there is other output to show. */
async function logFile(
  { place, environment }: CommandContext,
  hasOther: boolean,
): Promise<{ readonly path: string; readonly size: number } | null> {
  // The log of a mesh on another machine is stored on that machine.
  if (hasOther && (place.url ?? environment.url) !== undefined) return null
  const path = meshLogPath(place.home)
  const found = await stat(path).catch(() => null)
  if (found !== null) return { path, size: found.size }
  if (hasOther) return null
  throw new CommandFailed('no-log', {
    detail: `There is no log in ${place.home}: no mesh has been started there with flotilla start, or you may not read the file.`,
    repair: 'Name the home with --home. A mesh that systemd started logs there: journalctl -u flotilla',
  })
}

/** The output of the container of an agent. */
interface Printed {
  readonly lines: readonly string[]
  /** Prints new output of the container until the signal aborts. */
  follow(signal: AbortSignal): Promise<void>
}

/** Returns null if no mesh is running. Rejects with the Problem `unknown-agent`. */
async function printedBy(context: CommandContext, agent: string, count: number): Promise<Printed | null> {
  const read = async (lines: number) => {
    const client = await context.mesh()
    const reply = await client.call('agentLogs', { params: { id: agent }, query: { lines } })
    return reply.lines.map((text) => ofAgent(text, agent))
  }
  let known = await read(Math.min(count, keptLimits.logLinesMax)).catch((error: unknown) => {
    if (exitCodeOf(error) === exitCodes.meshNotRunning) return null
    throw error
  })
  if (known === null) return null
  return {
    lines: known,
    follow: async (signal) => {
      for (;;) {
        await context.clock.sleep(printedEveryMs, signal).catch(() => undefined)
        if (signal.aborted) return
        const now = await read(keptLimits.logLinesMax)
        for (const text of linesAfter(known ?? [], now)) show(context, text)
        known = now
      }
    },
  }
}

/** Returns the new lines of `now`: those after the longest end of `earlier` that `now` still contains. Pure. */
export function linesAfter(earlier: readonly string[], now: readonly string[]): readonly string[] {
  const last = earlier.at(-1)
  if (last === undefined) return now
  for (let at = now.length - 1; at >= 0; at--) {
    if (now[at] !== last) continue
    const before = earlier.slice(-(at + 1))
    if (before.every((text, index) => text === now[at - before.length + 1 + index])) return now.slice(at + 1)
  }
  // No earlier line is in the output any more, so this is the output of a new container.
  return now
}

/** Adds the agent's id to a line of its output, and removes fields with which it could pass for the mesh. Pure. */
export function ofAgent(text: string, agentId: string): string {
  const {
    time,
    level,
    msg,
    progress: _progress,
    ready: _ready,
    url: _url,
    ...others
  } = logLineSchema.safeParse(parseJsonLine(text)).data ?? { msg: text }
  const moment = time === undefined ? NaN : Number(new Date(time))
  return JSON.stringify({
    ...others,
    ...(Number.isNaN(moment) ? {} : { time: moment }),
    ...(level === undefined ? {} : { level }),
    msg: msg ?? text,
    agentId,
  })
}

/** Sorts lines by time; a line without a time stays after the line before it. Pure. */
function byTime(lines: readonly string[]): readonly string[] {
  let moment = 0
  return lines
    .map((text) => {
      const time = logLineSchema.safeParse(parseJsonLine(text)).data?.time
      moment = time === undefined ? moment : Number(new Date(time))
      return { text, moment }
    })
    .toSorted((one, other) => one.moment - other.moment)
    .map(({ text }) => text)
}

function isAbout(text: string, agent: string): boolean {
  return logLineSchema.safeParse(parseJsonLine(text)).data?.agentId === agent
}

function show({ terminal }: CommandContext, text: string): void {
  const value = parseJsonLine(text)
  terminal.printJson(value ?? { msg: text })
  terminal.print(logLine(text, terminal.color))
}

/** Formats a line of the log for people: time, level, message, and the other fields. Pure. */
export function logLine(text: string, color: Color): string {
  const parsed = logLineSchema.safeParse(parseJsonLine(text))
  if (!parsed.success) return printable(text)
  const { time, level, msg, progress, agentId, ready, ...others } = parsed.data
  if (ready === true && typeof others.url === 'string') return printable(`the mesh answers on ${others.url}`)
  const moment = typeof time === 'number' ? formatTime(time) : (time ?? '').slice(0, 19).replace('T', ' ')
  const fields = Object.entries(others)
    .filter(([name]) => !hiddenFields.includes(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return [
    color.faint(moment),
    weight(level, color),
    agentId === undefined ? '' : color.name(oneLine(agentId, 64)),
    printable(msg ?? progress ?? ''),
    color.faint(oneLine(fields.join(' '), fieldsColumnsMax)),
  ]
    .filter((part) => part !== '')
    .join(' ')
}

/** These fields are the same on each line, so they are not shown. */
const hiddenFields: readonly string[] = ['pid', 'hostname', 'name']

function weight(level: number | string | undefined, color: Color): string {
  if (level === undefined) return ''
  const number = typeof level === 'number' ? level : (levels[level] ?? 30)
  if (number >= 50) return color.bad('error')
  return number >= 40 ? color.warning('warn ') : 'info '
}

const levels: Readonly<Record<string, number>> = { debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }
