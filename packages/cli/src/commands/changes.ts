import type { MeshClient } from '@flotilla/client/mesh-client'
import type { AgentEdit, ChangeView } from '@flotilla/protocol/agent-edit'
import { editableFiles } from '@flotilla/protocol/workspace-file'
import type { Command } from 'commander'
import { commandAction, flagOption, numberOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { wholeNumber } from '../number-argument.ts'
import { readValue } from '../read-value.ts'
import { oneLine } from '../terminal/color.ts'
import { confirmByTyping } from '../terminal/confirm.ts'
import { formatDuration, formatTime } from '../terminal/format.ts'
import { openEditor } from '../terminal/open-editor.ts'
import type { EditedText } from '../terminal/open-editor.ts'
import { renderTable } from '../terminal/table.ts'

const valueColumns = 40

export function addChangesCommands(program: Command, deps: CliDeps): void {
  program
    .command('edit')
    .description(
      'Changes one field of an agent immediately. Texts can be undone for 5 minutes, the model for 30. A change that someone else made meanwhile is not overwritten.',
    )
    .argument('<agent>', 'id of the agent')
    .argument('<field>', `role, model, or one of ${editableFiles.join(', ')}`)
    .argument(
      '[value]',
      'the new value; @file reads it from a file; default as the model follows the fleet; without a value your editor opens the current one (VISUAL, EDITOR)',
    )
    .option('--reason <words>', 'why, for the record')
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla edit auditor role 'Reads contracts.'
  $ flotilla edit auditor model openai/gpt-5-mini
  $ flotilla edit auditor SOUL.md               in your editor
  $ flotilla edit auditor SOUL.md @soul.md`,
    )
    .action(commandAction(deps, edit))
  program
    .command('changes')
    .description('Lists changes of agents by people and by the operator, newest first.')
    .option('--agent <id>', 'only changes of this agent')
    .option('--limit <count>', 'how many', wholeNumber(1, 200), 20)
    .addHelpText('after', '\nExample:\n  $ flotilla changes --agent auditor')
    .action(commandAction(deps, changes))
  program
    .command('undo')
    .description(
      'Undoes a change unless the field has changed since. Without a token, undoes the newest change that can be undone.',
    )
    .argument('[token]', 'undo token, as flotilla changes shows it')
    .option('-y, --yes', 'do not ask, where no token is given')
    .addHelpText('after', '\nExamples:\n  $ flotilla undo\n  $ flotilla undo change_0123456789abcdef')
    .action(commandAction(deps, undo))
}

/** Returns a hint that says how to undo a change, and until when. */
export function undoHint(change: ChangeView): string {
  const later = change.takes_effect === 'next-run' ? ' It applies from the next run.' : ''
  return `Undo within ${formatDuration(change.expires_at - change.applied_at)}: flotilla undo ${change.undo_token}.${later}`
}

async function edit(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const id = operand(line, 0)
  const field = fieldOf(operand(line, 1))
  const client = await context.mesh()
  const seen = await readSeen(client, { id, field, signal })
  const word = line.operands[2]
  const written = word === undefined ? await write(context, { id, field, seen }) : null
  const text = written?.text ?? (await readValue(word ?? ''))
  const value = field === 'model' && text.trim() === 'default' ? null : text
  if (written !== null && value === seen) {
    await written.taken()
    terminal.printJson({ changed: false })
    return terminal.print('Nothing was changed.')
  }
  try {
    const change = await client.call('agentEdit', {
      params: { id },
      body: { ...editOf(field, value), reason: textOption(line, 'reason') ?? '', seen },
      idempotencyKey: context.newKey(),
      signal,
    })
    await written?.taken()
    terminal.printJson(change)
    terminal.hint(`${change.field} of ${id} is changed.`, undoHint(change))
  } catch (error) {
    if (written !== null) terminal.note(`Your text is saved in ${written.path}.`)
    throw error
  }
}

type EditedField = 'role' | 'model' | (typeof editableFiles)[number]

function fieldOf(name: string): EditedField {
  const field = (['role', 'model', ...editableFiles] as const).find((one) => one === name)
  if (field !== undefined) return field
  throw new CommandFailed('bad-field', {
    detail: `${name} cannot be changed here.`,
    repair: `Name role, model, or one of ${editableFiles.join(', ')}. For permissions see: flotilla permissions set --help`,
    exitCode: exitCodes.usage,
  })
}

/** Returns the current value. The mesh rejects an edit with this value if another edit was made in between. */
async function readSeen(
  client: MeshClient,
  { id, field, signal }: { readonly id: string; readonly field: EditedField; readonly signal: AbortSignal },
): Promise<string | null> {
  if (field === 'role' || field === 'model') {
    return (await client.call('agentConfig', { params: { id }, signal }))[field]
  }
  return (await client.call('identityFile', { params: { id, file: field }, signal })).content
}

async function write(
  { terminal, input, environment }: CommandContext,
  { id, field, seen }: { readonly id: string; readonly field: EditedField; readonly seen: string | null },
): Promise<EditedText> {
  if (input.isTTY === true && terminal.isInteractive) {
    const name = field.includes('.') ? field : `${field}.txt`
    return openEditor(environment.editor, { name: `${id}-${name}`, text: seen ?? 'default' })
  }
  throw new CommandFailed('no-value', {
    detail: `There is no value for ${field}, and no terminal to write one at.`,
    repair: `Pass it as an argument: flotilla edit ${id} ${field} VALUE, or @file to read it from a file.`,
    exitCode: exitCodes.usage,
  })
}

function editOf(field: EditedField, value: string | null): AgentEdit {
  if (field === 'model') return { field, value, reason: '' }
  return field === 'role'
    ? { field, value: value ?? '', reason: '' }
    : { field, value: value ?? '', reason: '' }
}

async function changes(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const agent = textOption(line, 'agent')
  const limit = numberOption(line, 'limit') ?? 20
  const query = { limit, ...(agent === undefined ? {} : { agent }) }
  const reply = await (await context.mesh()).call('changes', { query, signal })
  terminal.printJson(reply)
  if (reply.changes.length === 0) return terminal.print('Nothing was changed yet.')
  terminal.print(...changeRows(reply.changes, context.clock.now()))
}

function changeRows(list: readonly ChangeView[], now: number): string[] {
  return renderTable(
    [
      { title: 'TOKEN' },
      { title: 'WHEN (UTC)' },
      { title: 'AGENT' },
      { title: 'FIELD' },
      { title: 'BY' },
      { title: 'WAS' },
      { title: 'IS' },
      { title: 'UNDO' },
    ],
    list.map((change) => [
      change.undo_token,
      formatTime(change.applied_at),
      change.agent_id,
      change.field,
      change.actor,
      oneLine(shortValue(change, change.before), valueColumns),
      oneLine(shortValue(change, change.after), valueColumns),
      undoWords(change, now),
    ]),
  )
}

function undoWords(change: ChangeView, now: number): string {
  if (change.state === 'undone') return `undone by ${change.undone_by ?? 'an unknown person'}`
  if (change.state !== 'applied') return change.state
  const left = change.expires_at - now
  return left > 0 ? `for ${formatDuration(left)}` : 'too late'
}

function shortValue({ field }: ChangeView, value: unknown): string {
  if (value === null) return field === 'model' ? 'default' : 'nothing'
  return valueText(value)
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

async function undo(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const token = line.operands[0] ?? (await newestUndoable(context, line))
  const change = await client.call('changeUndo', { params: { token }, signal: context.signal })
  context.terminal.printJson(change)
  context.terminal.print(wasBefore(change))
}

/** Returns a sentence that names the restored value, or says that the agent again has no value of its own. */
export function wasBefore({ field, agent_id: id, before }: ChangeView): string {
  if (before === null && field === 'model') return `${id} uses the model of the fleet again.`
  if (before === null || before === '') return `${id} has no ${field} of its own again, as before.`
  return `${field} of ${id} is restored: ${oneLine(valueText(before), 200)}`
}

async function newestUndoable(context: CommandContext, line: CommandLine): Promise<string> {
  const reply = await (
    await context.mesh()
  ).call('changes', { query: { limit: 200 }, signal: context.signal })
  const now = context.clock.now()
  const newest = reply.changes.find((change) => change.state === 'applied' && change.expires_at > now)
  if (!newest) {
    throw new CommandFailed('nothing-to-undo', {
      detail: 'There is no change that can still be undone.',
      repair: 'flotilla changes lists the changes; set the field to its old value with flotilla edit.',
    })
  }
  if (!flagOption(line, 'yes')) {
    context.terminal.note(...changeRows([newest], now), '')
    await confirmByTyping(context, {
      what: `undo reverts ${newest.undo_token}, the newest change`,
      question: 'Undo this change?',
      answer: 'yes',
    })
  }
  return newest.undo_token
}
