import type { CronChange, CronJobView, CronRowView } from '@flotilla/protocol/cron-api'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Command } from 'commander'
import { CommandFailed } from '../command-failed.ts'
import { commandAction, flagOption, numberOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { oneLine } from '../terminal/color.ts'
import { formatCount } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

const schedules = `
SCHEDULE is five fields, minute hour day-of-month month day-of-week, with lists, ranges, steps and names, or an
interval: "0 9 * * MON-FRI", "*/10 8-18 * * *", "every 30s", "every 15m", "every 2h", "every 1d". Words are understood
too: "every weekday at 8:30", "every monday and thursday at 17:00", "on the 1st of every month at 9". Where both days are
given, either is enough. Times are UTC unless --timezone names another (Europe/Berlin): a named time that summer time
leaves out fires when the clocks have moved, one that comes twice fires once.`

const conditions = `
CONDITION is asked at each due time; it may name now.iso, now.year, now.month, now.day, now.hour, now.minute,
now.weekday (MON), now.weekend, job.id, job.agent, job.mode, job.runs, last.outcome (done, failed, ..., none),
last.text and last.errors_in_row: --when 'now.weekend == false and last.errors_in_row < 3'`

const longestLine = 60
const rowsShown = 20
const rowsMax = 200

/** Registers the commands for scheduled jobs. */
export function addCronCommand(program: Command, deps: CliDeps): void {
  const cron = program
    .command('cron')
    .description(
      'Scheduled jobs of agents, stored in config/cron.json, which you may also edit by hand. The mesh checks every 5 seconds and records the result of each due time.',
    )
    .addHelpText(
      'after',
      `
Example:
  $ flotilla cron add writer "0 9 * * MON-FRI" --message "Sum up the news of the night"
  $ flotilla cron list
  $ flotilla cron why cron_0123456789abcdef`,
    )
  cron
    .command('list', { isDefault: true })
    .summary('jobs, when they are due, and how they ended')
    .description('Lists jobs with their next due time, how often they fired, were skipped and failed.')
    .argument('[agent]', 'only the jobs of this agent')
    .addHelpText('after', '\nExample:\n  $ flotilla cron list writer --json')
    .action(commandAction(deps, list))
  jobOptions(
    cron
      .command('add')
      .summary('create a job')
      .description(
        'Creates a job: a message to the agent, or a tool call without a model. Each run is a separate conversation.',
      )
      .argument('<agent>', 'id of the agent')
      .argument('<schedule>', 'when'),
  )
    .option('--timezone <name>', 'the time zone that the five fields are in', 'UTC')
    .option('--heartbeat', 'the heartbeat of the agent, instead of a message or tool')
    .option('--off', 'create it switched off')
    .addHelpText(
      'after',
      `${schedules}\n${conditions}

Examples:
  $ flotilla cron add writer "0 9 * * MON-FRI" --timezone Europe/Berlin --message "Sum up the news"
  $ flotilla cron add clerk "every 10m" --tool http_request --params '{"url":"https://example.org/health"}'`,
    )
    .action(commandAction(deps, add))
  jobOptions(
    cron
      .command('set')
      .summary('change a job')
      .description(
        'Changes only the fields that you name. Agent, time zone and mode are fixed: remove the job and create another. The operator’s heartbeat cannot be changed; flotilla pause operator holds it.',
      )
      .argument('<job>', 'id of the job')
      .option('--schedule <schedule>', 'when'),
  )
    .option('--on', 'switch it on')
    .option('--off', 'switch it off and keep it')
    .addHelpText(
      'after',
      `${schedules}\n${conditions}\n\nExample:\n  $ flotilla cron set cron_0123456789abcdef --schedule "every 1h"`,
    )
    .action(commandAction(deps, set))
  cron
    .command('remove')
    .summary('remove a job with its history')
    .description('Removes a job. Its runs that have started continue.')
    .argument('<job>', 'id of the job')
    .addHelpText('after', '\nExample:\n  $ flotilla cron remove cron_0123456789abcdef')
    .action(commandAction(deps, remove))
  cron
    .command('run')
    .summary('fire a job now')
    .description(
      'Fires a job now, even if it is off or its condition does not hold. If its last run is still active, the new one waits in the queue of the agent.',
    )
    .argument('<job>', 'id of the job')
    .addHelpText('after', '\nExample:\n  $ flotilla cron run cron_0123456789abcdef')
    .action(commandAction(deps, run))
  cron
    .command('why')
    .summary('why a job fired, or did not')
    .description('Explains when a job is due next and what happened at its last due times.')
    .argument('<job>', 'id of the job')
    .addHelpText('after', '\nExample:\n  $ flotilla cron why cron_0123456789abcdef')
    .action(commandAction(deps, why))
  cron
    .command('history')
    .summary('the result of each due time')
    .description('Lists the rows of a job, newest first: fired, skipped and why, how late, how it ended.')
    .argument('<job>', 'id of the job')
    .option('--limit <n>', 'how many rows', wholeNumber(1, rowsMax), rowsShown)
    .addHelpText('after', '\nExample:\n  $ flotilla cron history cron_0123456789abcdef --limit 100')
    .action(commandAction(deps, history))
}

function jobOptions(command: Command): Command {
  return command
    .option('--message <text>', 'message to the agent')
    .option('--tool <name>', 'a tool of the agent to call instead, without a model')
    .option('--params <json>', 'its parameters, as a JSON object')
    .option('--when <condition>', 'fire only while this holds; empty removes it')
    .option('--tell-always', 'report the answer even when it says nothing new (ok, no updates)')
    .option('--tell-news', 'report the answer only when it says something new (the default)')
}

async function list(context: CommandContext, line: CommandLine): Promise<void> {
  const agent = line.operands[0]
  const query = agent === undefined ? {} : { agent }
  const reply = await (await context.mesh()).call('cronJobs', { query, signal: context.signal })
  const { terminal } = context
  terminal.printJson(reply)
  if (reply.broken !== null) terminal.print(`The current file is not used: ${reply.broken}`)
  if (reply.jobs.length === 0)
    terminal.hint('No jobs yet. Next: flotilla cron add AGENT "every 1h" --message "..."')
  else terminal.print(...renderTable(jobColumns, reply.jobs.map(jobRow)))
  for (const { id, note } of reply.jobs) if (note !== '') terminal.print(`${id}: ${note}`)
}

const jobColumns = ['JOB', 'AGENT', 'SCHEDULE', 'DOES', 'NEXT (UTC)', 'FIRED', 'LAST'].map((title) => ({
  title,
}))

function jobRow(job: CronJobView): string[] {
  const zone = job.timezone === 'UTC' || /^every/i.test(job.schedule) ? '' : ` ${job.timezone}`
  return [
    job.id,
    job.agent,
    job.schedule + zone,
    oneLine(doesOf(job), longestLine),
    job.next_run === null ? (job.enabled ? 'never' : 'off') : timeOf(job.next_run),
    firedWords(job),
    job.last_outcome ?? '-',
  ]
}

/** Shows counts in one cell and only those that are not zero: one column each would be too wide. Pure. */
export function firedWords(
  job: Pick<CronJobView, 'run_count' | 'skip_count' | 'error_count' | 'errors_in_row'>,
): string {
  const errors = formatCount(job.error_count, 'error')
  return [
    `${job.run_count}`,
    ...(job.skip_count === 0 ? [] : [`${job.skip_count} skipped`]),
    ...(job.error_count === 0
      ? []
      : [job.errors_in_row > 0 ? `${errors}, ${job.errors_in_row} in a row` : errors]),
  ].join(', ')
}

function doesOf(job: CronJobView): string {
  if (job.mode === 'heartbeat') return 'heartbeat'
  return job.mode === 'tool' ? `calls ${job.tool_name ?? ''}` : `“${job.message ?? ''}”`
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', ' ')
}

async function add(context: CommandContext, line: CommandLine): Promise<void> {
  const body = {
    agent: operand(line, 0),
    schedule: operand(line, 1),
    timezone: textOption(line, 'timezone') ?? 'UTC',
    ...(flagOption(line, 'heartbeat') ? { heartbeat: true } : {}),
    ...(flagOption(line, 'off') ? { enabled: false } : {}),
    ...changeOf(line),
  }
  const job = await (await context.mesh()).call('cronCreate', { body, signal: context.signal })
  context.terminal.printJson(job)
  context.terminal.print(`Job ${job.id} is created.`, ...aboutJob(job))
}

async function set(context: CommandContext, line: CommandLine): Promise<void> {
  const schedule = textOption(line, 'schedule')
  const body: CronChange = {
    ...changeOf(line),
    ...(schedule === undefined ? {} : { schedule }),
    ...(flagOption(line, 'on') ? { enabled: true } : {}),
    ...(flagOption(line, 'off') ? { enabled: false } : {}),
  }
  if (Object.keys(body).length === 0)
    throw new CommandFailed('nothing-to-change', {
      detail: 'The command names nothing to change.',
      repair: 'See flotilla cron set --help.',
    })
  const job = await (
    await context.mesh()
  ).call('cronUpdate', { params: { id: operand(line, 0) }, body, signal: context.signal })
  context.terminal.printJson(job)
  context.terminal.print(`Job ${job.id} is changed.`, ...aboutJob(job))
}

function changeOf(line: CommandLine): Omit<CronChange, 'schedule' | 'enabled'> {
  const [message, tool, params, when] = ['message', 'tool', 'params', 'when'].map((name) =>
    textOption(line, name),
  )
  return {
    ...(message === undefined ? {} : { message }),
    ...(tool === undefined ? {} : { tool_name: tool }),
    ...(params === undefined ? {} : { tool_params: jsonObject(params) }),
    ...(when === undefined ? {} : { when }),
    ...(flagOption(line, 'tellAlways') ? { suppress_empty: false } : {}),
    ...(flagOption(line, 'tellNews') ? { suppress_empty: true } : {}),
  }
}

function jsonObject(text: string): JsonObject {
  try {
    return jsonObjectSchema.parse(JSON.parse(text))
  } catch {
    throw new CommandFailed('bad-params', {
      detail: '--params is not a JSON object.',
      repair: `Write it as --params '{"url":"https://example.org"}'.`,
    })
  }
}

function aboutJob(job: CronJobView): string[] {
  const next = job.next_run === null ? 'It is off.' : `Next due ${timeOf(job.next_run)} UTC.`
  return [next, ...(job.note === '' ? [] : [`Note: ${job.note}.`])]
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const params = { id: operand(line, 0) }
  const reply = await (await context.mesh()).call('cronRemove', { params, signal: context.signal })
  context.terminal.printJson(reply)
  context.terminal.print(`Removed ${reply.id}.`)
}

async function run(context: CommandContext, line: CommandLine): Promise<void> {
  const params = { id: operand(line, 0) }
  const row = await (await context.mesh()).call('cronRun', { params, signal: context.signal })
  context.terminal.printJson(row)
  const next = row.run_id === null ? [] : [`Next: flotilla runs ${row.run_id}`]
  context.terminal.hint(row.words, ...next)
}

async function readHistory(context: CommandContext, line: CommandLine) {
  const query = { limit: numberOption(line, 'limit') ?? rowsShown }
  const params = { id: operand(line, 0) }
  return (await context.mesh()).call('cronHistory', { params, query, signal: context.signal })
}

async function why(context: CommandContext, line: CommandLine): Promise<void> {
  const { job, why: reasons } = await readHistory(context, line)
  context.terminal.printJson({ job: job.id, why: reasons })
  context.terminal.print(...reasons)
}

async function history(context: CommandContext, line: CommandLine): Promise<void> {
  const reply = await readHistory(context, line)
  context.terminal.printJson(reply)
  if (reply.rows.length === 0) context.terminal.print('It has not been due yet.')
  else context.terminal.print(...renderTable(rowColumns, reply.rows.map(rowRow)))
}

const rowColumns = ['DUE (UTC)', 'TIMES', 'STATE', 'LATE', 'RUN', 'OUTCOME', 'WHAT'].map((title) => ({
  title,
}))

function rowRow(row: CronRowView): string[] {
  return [
    timeOf(row.due_at) + (row.manual ? ' by hand' : ''),
    `${row.count_exact ? '' : '≥ '}${row.count}`,
    row.state === 'skipped' ? `skipped: ${row.skipped_because ?? ''}` : row.state,
    row.late ? `${Math.round(row.late_ms / 1000)} s` : '-',
    row.run_id ?? '-',
    row.outcome ?? '-',
    oneLine(row.state === 'skipped' ? row.detail : row.text, longestLine),
  ]
}
