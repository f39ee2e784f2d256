import { open, stat } from 'node:fs/promises'
import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction, flagOption, numberOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { followLines } from '../mesh-process/follow-file.ts'
import { parseJsonLine } from '../mesh-process/mesh-lines.ts'
import { meshLogPath } from '../mesh-process/mesh-paths.ts'
import { wholeNumber } from '../number-argument.ts'
import { oneLine, printable } from '../terminal/color.ts'
import type { Color } from '../terminal/color.ts'
import { formatTime } from '../terminal/format.ts'

const linesDefault = 50
const linesMax = 10_000
/** Only so much of the end of a long log is read for the lines that are wanted. */
const readMaxBytes = 8 * 1024 * 1024
const fieldsColumnsMax = 160

const logLineSchema = z.looseObject({
  time: z.optional(z.union([z.number(), z.string()])),
  level: z.optional(z.union([z.number(), z.string()])),
  msg: z.optional(z.string()),
  progress: z.optional(z.string()),
  /** What the mesh told whoever started it. */
  ready: z.optional(z.unknown()),
  url: z.optional(z.unknown()),
  agentId: z.optional(z.string()),
})

export function addLogsCommand(program: Command, deps: CliDeps): void {
  program
    .command('logs')
    .description(
      'Shows what the mesh of a home folder has logged, of all or of one agent. It reads the file data/mesh.log of this machine, with or without a running mesh; what agents do stands in flotilla events and flotilla runs.',
    )
    .argument('[agent]', 'only lines about this agent')
    .option('-f, --follow', 'go on with what is logged from now on, until Ctrl-C')
    .option('--lines <count>', 'how many of the last', wholeNumber(1, linesMax), linesDefault)
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla logs -f\n  $ flotilla logs auditor --lines 200\n  $ flotilla logs --json | jq "select(.level >= 40)"',
    )
    .action(commandAction(deps, logs))
}

async function logs(context: CommandContext, line: CommandLine): Promise<void> {
  const { place, clock } = context
  const path = meshLogPath(place.home)
  const found = await stat(path).catch(() => null)
  if (found === null) {
    throw new CommandFailed('no-log', {
      detail: `There is no log in ${place.home}: no mesh has been started there with flotilla start, or it is not yours to read.`,
      repair: 'Name the home with --home. A mesh that systemd started logs there: journalctl -u flotilla',
    })
  }
  const [agent] = line.operands
  const count = numberOption(line, 'lines') ?? linesDefault
  const isMeant = (text: string) => agent === undefined || isAbout(text, agent)
  const ended = AbortSignal.abort()
  const last: string[] = []
  const from = Math.max(0, found.size - readMaxBytes)
  for await (const text of followLines(await open(path), { from, clock, signal: ended })) {
    if (!isMeant(text)) continue
    last.push(text)
    if (last.length > count) last.shift()
  }
  for (const text of last) show(context, text)
  if (!flagOption(line, 'follow')) return
  const stop = new AbortController()
  const giveBack = context.onInterrupt(() => stop.abort())
  const signal = AbortSignal.any([stop.signal, context.signal])
  for await (const text of followLines(await open(path), { from: found.size, clock, signal })) {
    if (isMeant(text)) show(context, text)
  }
  giveBack()
}

function isAbout(text: string, agent: string): boolean {
  return logLineSchema.safeParse(parseJsonLine(text)).data?.agentId === agent
}

function show({ terminal }: CommandContext, text: string): void {
  const value = parseJsonLine(text)
  terminal.printJson(value ?? { msg: text })
  terminal.print(logLine(text, terminal.color))
}

/** A line of the log as a person reads it: moment, weight, sentence, and the other fields. Pure. */
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

/** The same on each line. */
const hiddenFields: readonly string[] = ['pid', 'hostname', 'name']

function weight(level: number | string | undefined, color: Color): string {
  if (level === undefined) return ''
  const number = typeof level === 'number' ? level : (levels[level] ?? 30)
  if (number >= 50) return color.bad('error')
  return number >= 40 ? color.warning('warn ') : 'info '
}

const levels: Readonly<Record<string, number>> = { debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }
