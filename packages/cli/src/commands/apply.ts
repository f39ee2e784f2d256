import { readFile, stat } from 'node:fs/promises'
import { templateLimits } from '@flotilla/protocol/limits'
import { templateEndpoints } from '@flotilla/protocol/templates-api'
import type { PlanItem, TemplatePlan } from '@flotilla/protocol/templates-api'
import type { Command } from 'commander'
import { commandAction, flagOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { printable } from '../terminal/color.ts'
import type { Color } from '../terminal/color.ts'
import { confirmByTyping } from '../terminal/confirm.ts'

export const ownTemplateHelp = `
A template of your own is a file in templates/ of the home folder, NAME.yaml, or anywhere else:

  name: price-watch                     # as the file is called
  description: Watches two shops.
  agents:
    - id: watcher
      role: Reads prices and says what changed.
      instructions: |
        Read /data/shops.txt and fetch each address with http_request ...
      permissions: { allowed_apis: [llm, http] }
      budget: { daily_usd: 1, monthly_usd: 10 }
      settings: { hibernate_after_minutes: 10 }   # also models, data_limit_mb, allowed_hosts, isolation, isolation_mode, answers, harness
      files: { shops.txt: "https://shop.example/a" }
  schedules:
    - { id: watch-prices, agent: watcher, schedule: '0 7 * * *', message: Look at all shops. }

flotilla templates show NAME prints a whole one to begin with; flotilla export writes one of the fleet that you have.`

export function addApplyCommand(program: Command, deps: CliDeps): void {
  program
    .command('apply')
    .description(
      'Shows what a template would create and change, asks for confirmation, and then does all of it or nothing. It removes nothing, and leaves alone what the template does not name. Regardless of who applies it, a template grants at most what the operator could grant.',
    )
    .argument('<template>', 'name of a template, or a file such as ./fleet.yaml')
    .option('-y, --yes', 'do not ask')
    .option('--plan', 'only show what would be done')
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla apply research-desk
  $ flotilla apply ./fleet.yaml --plan
  $ flotilla apply ./fleet.yaml --yes --json
${ownTemplateHelp}`,
    )
    .action(commandAction(deps, apply))
}

async function apply(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const source = await sourceOf(operand(line, 0))
  const client = await context.mesh()
  const plan = await client.call('templatePlan', { body: source, signal })
  const isDone = plan.items.every(({ action }) => action === 'keep' || action === 'by-hand')
  const byHand = byHandRows(plan, operand(line, 0), client.baseUrl)
  terminal.print(...planRows(plan, terminal.color))
  if (flagOption(line, 'plan') || isDone) {
    terminal.printJson({ plan, secrets: [], applied: false })
    if (isDone) terminal.print('Nothing to do: the fleet already matches the template.')
    terminal.print(...byHand)
    return
  }
  if (!flagOption(line, 'yes')) {
    await confirmByTyping(context, {
      what: `this applies template ${plan.name}`,
      question: `Apply ${plan.name}?`,
      answer: 'yes',
    })
  }
  const ended = terminal.working(() => `Applying ${plan.name}`)
  const request = { body: { ...source, digest: plan.digest }, signal }
  const done = await client.call('templateApplyPlan', request).finally(ended)
  terminal.printJson({ ...done, applied: true })
  const count = done.plan.items.filter(({ action }) => action === 'create' || action === 'change').length
  terminal.print(
    `Applied ${plan.name}: ${count} of ${plan.items.length} parts are new or changed.`,
    ...done.secrets.flatMap(({ webhook, path, secret }) => [
      `Webhook ${printable(webhook)} takes deliveries at ${path}`,
      `  signed with ${secret} (shown this once)`,
    ]),
    ...byHand,
  )
}

/** Treats an argument that looks like a path as a file, and all others as a name. Checks the size before reading. */
async function sourceOf(given: string): Promise<{ readonly name: string } | { readonly text: string }> {
  if (/^[a-z0-9][a-z0-9-]{0,63}$/.test(given)) return { name: given }
  try {
    const { size } = await stat(given)
    if (size > templateLimits.fileMaxChars * 4) {
      throw new CommandFailed('unprocessable', {
        detail: `${given} is longer than the ${templateLimits.fileMaxChars} characters that a template has at most.`,
        repair: 'Take files out of it and put them with flotilla put.',
        exitCode: exitCodes.usage,
      })
    }
    return { text: await readFile(given, 'utf8') }
  } catch (error) {
    if (error instanceof CommandFailed) throw error
    throw new CommandFailed('no-such-file', {
      detail: `${given} is neither the name of a template nor a file that can be read.`,
      repair: 'flotilla templates lists the names.',
      exitCode: exitCodes.usage,
    })
  }
}

/** Returns lines that explain how to create the webhooks of a plan: only the dashboard or its API can. */
function byHandRows({ items }: TemplatePlan, given: string, baseUrl: string): string[] {
  if (!items.some(({ action }) => action === 'by-hand')) return []
  const isName = /^[a-z0-9][a-z0-9-]{0,63}$/.test(given)
  const body = isName ? `-d '{"name": "${given}"}'` : `-d "$(jq -Rs '{text: .}' < ${printable(given)})"`
  return [
    'Webhooks can only be created in the dashboard or with its API. This command creates those marked with !, and shows their secrets once:',
    `  $ curl ${baseUrl}${templateEndpoints.templateApplyPlan.path} -H 'X-Requested-With: curl' -H 'Content-Type: application/json' ${body}`,
  ]
}

const marks = { create: '+', change: '~', keep: ' ', 'by-hand': '!' } as const

/** Formats the plan as lines: what is created and what changes, with the value before. Pure. */
export function planRows({ name, items }: TemplatePlan, color: Color): string[] {
  const plain = (text: string) => text
  const paint = { create: color.good, change: color.warning, keep: plain, 'by-hand': color.warning }
  return [
    `Template ${name}:`,
    ...items.flatMap((item) => [
      paint[item.action](
        `  ${marks[item.action]} ${item.kind} ${printable(item.id)}${item.action === 'keep' ? ' (unchanged)' : ''}`,
      ),
      ...changeRows(item, color),
      ...(item.warning === undefined ? [] : [color.warning(`      ! ${printable(item.warning)}`)]),
    ]),
  ]
}

const linesShownMax = 12
const lineMaxChars = 160

function changeRows({ changes }: PlanItem, color: Color): string[] {
  return changes.flatMap(({ field, before, after }) => {
    const [was, is] = [before === null ? [] : shownLines(before), shownLines(after)]
    if (was.length <= 1 && is.length <= 1) {
      const from = before === null ? '' : `${was[0] ?? ''} -> `
      return [`      ${printable(field)}: ${from}${is[0] ?? ''}`]
    }
    const gone = was.filter((text) => !is.includes(text))
    const fresh = is.filter((text) => !was.includes(text))
    return [
      `      ${printable(field)}:`,
      ...bounded(gone).map((text) => color.bad(`        - ${text}`)),
      ...bounded(fresh).map((text) => color.good(`        + ${text}`)),
    ]
  })
}

function shownLines(text: string): string[] {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => printable(line.length > lineMaxChars ? `${line.slice(0, lineMaxChars)} ...` : line))
}

function bounded(lines: readonly string[]): readonly string[] {
  if (lines.length <= linesShownMax) return lines
  return [...lines.slice(0, linesShownMax), `(${lines.length - linesShownMax} more lines)`]
}
