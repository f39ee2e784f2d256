import { isDeepStrictEqual } from 'node:util'
import type { ExplanationView } from '@flotilla/protocol/control-api'
import { permissionActions } from '@flotilla/protocol/permission-actions'
import { operatorFlags, operatorTools } from '@flotilla/protocol/operator-tools'
import { permissionFields } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { toolGroups } from '@flotilla/protocol/tool-groups'
import { toolNeeds } from '@flotilla/protocol/tool-needs'
import type { ToolNeed } from '@flotilla/protocol/tool-needs'
import { Option } from 'commander'
import type { Command } from 'commander'
import { commandAction, flagOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { CommandFailed } from '../command-failed.ts'
import { exitCodes } from '../exit-codes.ts'
import { printable } from '../terminal/color.ts'
import { confirmByTyping } from '../terminal/confirm.ts'
import { renderTable } from '../terminal/table.ts'
import { undoHint } from './changes.ts'
import { parseAssignments } from './permission-assignments.ts'

/** Grants beyond the operator's ceiling; they are confirmed by typing. */
const grave = ['can_spawn', 'can_use_wallet'] as const

export function addPermissionsCommand(program: Command, deps: CliDeps): void {
  const permissions = program
    .command('permissions')
    .description(
      'Shows, sets and explains what an agent may do. The records are stored in config/permissions.json, which you may edit by hand.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla permissions show auditor\n  $ flotilla permissions explain auditor call-api llm',
    )
  permissions
    .command('show', { isDefault: true })
    .summary('the permission record of an agent')
    .description('Shows every field of the permission record of one agent, or what is granted to each agent.')
    .argument('[agent]', 'id of one agent')
    .addHelpText('after', '\nExample:\n  $ flotilla permissions show auditor')
    .action(commandAction(deps, show))
  permissions
    .command('set')
    .summary('change fields of the record')
    .description(
      'Sets fields, or adds and removes entries of lists. Takes effect immediately; can be undone for 30 minutes.',
    )
    .argument('<agent>', 'id of the agent')
    .argument('<change...>', 'field=value, field+=entry,entry or field-=entry')
    .option('-y, --yes', 'do not ask before granting can_spawn or can_use_wallet')
    .addHelpText(
      'after',
      `
Fields:
  ${wrapped(Object.keys(permissionFields))}

Examples:
  $ flotilla permissions set auditor can_message+=writer blackboard_write='output/**,status/*'
  $ flotilla permissions set auditor can_manage_cron=true
  $ flotilla permissions set auditor browser_actions=null`,
    )
    .action(commandAction(deps, set))
  permissions
    .command('tools')
    .summary('all tools by group, with the permissions they need')
    .description(
      'Lists the tools of agents by group, with the fields of the permission record that each tool needs. Needs no running mesh.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla permissions tools')
    .action(commandAction(deps, tools))
  permissions
    .command('explain')
    .summary('explain whether an agent may do something')
    .description(
      'Says whether an agent may do something, and which line of which file decides it. Exit code 4 when it is denied.',
    )
    .argument('<agent>', 'id of the agent')
    .argument('<action>', 'the action')
    .argument('[resource]', 'the object of the action')
    .addOption(
      new Option(
        '--as <token>',
        'the token of the request: that of the agent process (door) or of a program that it runs (program)',
      )
        .choices(['door', 'program'])
        .default('door'),
    )
    .addHelpText(
      'after',
      `
Actions:
${permissionActions.map(({ name, resource }) => `  ${name.padEnd(20)} ${resource ?? ''}`.trimEnd()).join('\n')}

Examples:
  $ flotilla permissions explain auditor write-blackboard output/report
  $ flotilla permissions explain auditor call-api llm --as program`,
    )
    .action(commandAction(deps, explain))
}

async function show(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal } = context
  const [id] = line.operands
  if (id === undefined) return showAll(context)
  const permissions = await recordOf(context, id)
  terminal.printJson(permissions)
  if (permissions === null) {
    terminal.print(`${id} has no permission record: everything is denied.`)
    return
  }
  terminal.print(...recordRows(permissions))
}

async function showAll(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const { agents } = await (await context.mesh()).call('status', { signal })
  const records = []
  for (const { id } of agents) records.push([id, await recordOf(context, id)] as const)
  terminal.printJson({ agents: Object.fromEntries(records) })
  terminal.hint(
    ...renderTable(
      [{ title: 'AGENT' }, { title: 'SWITCHED ON', columnsMax: 100 }],
      records.map(([id, record]) => [id, record === null ? 'nothing: it has no record' : switchedOn(record)]),
    ),
    'All fields of one: flotilla permissions show AGENT',
  )
}

function switchedOn(record: PermissionRecord): string {
  const on = Object.entries(record).flatMap(([field, value]) => (value === true ? [field] : []))
  return on.join(', ') || 'nothing'
}

/** Returns null for an agent without a permission record; such an agent is denied everything. */
async function recordOf(context: CommandContext, id: string): Promise<PermissionRecord | null> {
  const mesh = await context.mesh()
  const { permissions } = await mesh.call('agentConfig', { params: { id }, signal: context.signal })
  if (permissions !== undefined) return permissions
  throw new CommandFailed('denied', {
    detail: `Only owners may see the permission record of ${id}.`,
    repair: `Check a single action with: flotilla permissions explain ${id} ACTION`,
  })
}

async function tools({ terminal }: CommandContext): Promise<void> {
  const rows = toolGroups.flatMap(({ name, operatorOnly, tools: members }) =>
    Object.entries<string>(members).map(([within, tool]) => ({
      group: name,
      within,
      tool,
      needs: [...(operatorOnly ? ['the operator'] : []), ...needsOf(tool)],
    })),
  )
  terminal.printJson({ tools: rows })
  terminal.print(
    ...renderTable(
      [{ title: 'GROUP' }, { title: 'TOOL' }, { title: 'CALLED' }, { title: 'NEEDS', columnsMax: 60 }],
      rows.map(({ group, within, tool, needs }) => [group, within, tool, needs.join(', ') || 'nothing']),
    ),
  )
}

/** Formats fields of the record in the syntax of `permissions set`. */
function needsOf(tool: string): string[] {
  const action = operatorTools.find(({ name }) => name === tool)?.needs
  if (action !== undefined) return [operatorFlags[action]]
  const need = Object.entries<ToolNeed>(toolNeeds).find(([name]) => name === tool)?.[1]
  if (need === undefined) return []
  if ('api' in need) return [`allowed_apis: ${need.api}`]
  if ('browser' in need) return [`can_use_browser, browser_actions: ${need.browser}`]
  const both = [...(need.flag === undefined ? [] : [need.flag]), need.field]
  return need.or === undefined ? both : [`${both.join(' with ')} or ${need.or}`]
}

function recordRows(record: PermissionRecord): string[] {
  return renderTable(
    [{ title: 'FIELD' }, { title: 'VALUE', columnsMax: 90 }],
    Object.entries(record).map(([field, value]) => [field, printable(inWords(value))]),
  )
}

function inWords(value: PermissionRecord[keyof PermissionRecord]): string {
  if (value === null) return 'all'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ')
  return String(value)
}

async function set(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const id = operand(line, 0)
  const value = parseAssignments(line.operands.slice(1))
  const granted = grave.filter((field) => value.set[field] === true)
  if (granted.length > 0 && !flagOption(line, 'yes')) {
    await confirmByTyping(context, {
      what: `this gives ${granted.join(' and ')} to ${id}`,
      question: `Give ${granted.join(' and ')} to ${id}?`,
      answer: 'yes',
    })
  }
  const change = await (
    await context.mesh()
  ).call('agentEdit', {
    params: { id },
    body: { field: 'permissions', value },
    idempotencyKey: context.newKey(),
    signal,
  })
  terminal.printJson(change)
  const isSame = isDeepStrictEqual(change.before, change.after)
  terminal.hint(
    ...changedRows(change.before, change.after),
    isSame ? 'Nothing changed: the record already had these values.' : undoHint(change),
  )
  terminal.note(...change.notices.map((notice) => `Note: ${notice}.`))
}

function changedRows(before: unknown, after: unknown): string[] {
  const was = new Map(entriesOf(before))
  return renderTable(
    [{ title: 'FIELD' }, { title: 'WAS', columnsMax: 50 }, { title: 'IS', columnsMax: 50 }],
    entriesOf(after).map(([field, value]) => [
      field,
      printable(JSON.stringify(was.get(field))),
      printable(JSON.stringify(value)),
    ]),
  )
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

async function explain(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const resource = line.operands[2]
  const decision = await (
    await context.mesh()
  ).call('permissionsExplain', {
    params: { id: operand(line, 0) },
    query: {
      action: operand(line, 1),
      as: textOption(line, 'as') === 'program' ? 'program' : 'door',
      ...(resource === undefined ? {} : { resource }),
    },
    signal,
  })
  terminal.printJson(decision)
  const { color } = terminal
  terminal.print(
    decision.allowed
      ? `${color.good('allowed')}: ${decision.reason}`
      : `${color.bad('denied')}: ${printable(decision.reason)}`,
    `  by ${whereOf(decision)}`,
    ...(decision.repair === '' ? [] : [`  ${printable(terminal.typed(decision.repair))}`]),
  )
  if (!decision.allowed) context.setExitCode(exitCodes.refused)
}

function whereOf({ file, line, field }: ExplanationView): string {
  return `${line === null ? file : `${file}:${line}`}${field === null ? '' : ` (${field})`}`
}

function wrapped(words: readonly string[]): string {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length > 90) lines.push(word)
    else lines[lines.length - 1] = `${last}  ${word}`
  }
  return lines.join('\n  ')
}
