import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import type { TaskView } from '@flotilla/protocol/task'
import type { CredentialRequestView } from '@flotilla/protocol/vault-api'
import type { Command } from 'commander'
import { commandAction, flagOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { followApproval } from '../follow-approval.ts'
import { oneLine, printable } from '../terminal/color.ts'
import { confirmByTyping } from '../terminal/confirm.ts'
import { formatDuration, formatTime } from '../terminal/format.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** How many blocked tasks are searched for questions; flotilla tasks lists all. */
const questionsMax = 50

export function addPendingCommands(program: Command, deps: CliDeps): void {
  program
    .command('pending')
    .description(
      'Shows what agents need your approval for, with the exact effect of an approval, the credentials that agents request, and the questions that agents ask within a task.',
    )
    .argument('[id]', 'id of one approval')
    .option('--all', 'include decided ones')
    .addHelpText('after', '\nExamples:\n  $ flotilla pending\n  $ flotilla pending appr_0123456789abcdef')
    .action(commandAction(deps, pending))
  program
    .command('confirm')
    .description(
      'Shows the exact effect, asks, and approves it: once, and only as shown. Waits until the action has ended; Ctrl-C ends only the waiting.',
    )
    .argument('<id>', 'id, as flotilla pending shows it')
    .option('-y, --yes', 'do not ask')
    .option(
      '--always',
      'afterwards add the rule to config/policy.yaml that is shown before, which allows such actions from now on',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla confirm appr_0123456789abcdef\n  $ flotilla confirm appr_0123456789abcdef --always',
    )
    .action(commandAction(deps, confirm))
}

async function pending(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const client = await context.mesh()
  const id = line.operands[0]
  if (id !== undefined) {
    const one = await client.call('pendingOne', { params: { id }, signal })
    terminal.printJson(one)
    terminal.print(...approvalLines(one, context))
    return
  }
  const reply = await client.call('pending', {
    query: { state: flagOption(line, 'all') ? 'all' : 'open' },
    signal,
  })
  terminal.printJson(reply)
  const asking = terminal.json ? [] : await questionsOf(context)
  const requests = terminal.json ? [] : await openRequests(context)
  if (reply.pending.length + asking.length + requests.length === 0)
    return terminal.print('No action, question or request for a credential waits for you.')
  for (const one of reply.pending) terminal.print(...approvalLines(one, context), '')
  if (reply.pending.some(({ state }) => state === 'pending')) {
    terminal.hint('Decide with: flotilla confirm <id>, or flotilla cancel <id>')
  }
  for (const { id, agent_id: agentId, name, service, description } of requests) {
    const wish = oneLine(`${agentId} requests the credential ${name} for ${service}: ${description}`, 200)
    terminal.print(`${terminal.color.strong(id)} ${wish}`)
  }
  if (requests.length > 0) {
    terminal.hint(
      'Provide it with: flotilla credentials set NAME --host HOST; reject it with: flotilla credentials deny ID',
    )
  }
  if (asking.length === 0) return
  for (const { id, assignee, summary } of asking) {
    terminal.print(`${terminal.color.strong(id)} ${assignee} asks: ${oneLine(summary ?? '', 200)}`)
  }
  terminal.hint('Answer with: flotilla tasks answer <task> <words>')
}

/** Returns the requests for credentials that have no answer, newest first. */
async function openRequests(context: CommandContext): Promise<readonly CredentialRequestView[]> {
  const client = await context.mesh()
  const { requests } = await client.call('credentialRequests', { signal: context.signal })
  return requests.filter(({ state }) => state === 'open')
}

/** Returns the tasks of people that are blocked until a person answers, newest first. */
async function questionsOf(context: CommandContext): Promise<readonly TaskView[]> {
  const client = await context.mesh()
  const { tasks } = await client.call('tasks', {
    query: { state: 'blocked', limit: questionsMax },
    signal: context.signal,
  })
  return tasks.filter((task) => task.blocked_by === 'question' && task.creator.startsWith('human:'))
}

function approvalLines(
  one: ApprovalView,
  { terminal, clock }: { terminal: Terminal; clock: CommandContext['clock'] },
): string[] {
  const { color } = terminal
  const through = `${one.origin.kind} through ${one.origin.channel}`
  return [
    `${color.strong(one.id)} ${oneLine(one.summary, 200)}`,
    `  asked by   ${one.asked_by}, for ${through}${one.run_id === null ? '' : `, in ${one.run_id}`}`,
    `  asked at   ${formatTime(one.created_at)} UTC`,
    ...(one.state === 'pending'
      ? [
          `  expires    in ${formatDuration(Math.max(0, one.expires_at - clock.now()))}`,
          ...one.consequences.map((text) => `  ${color.warning('→')} ${printable(text)}`),
          ...one.costs.map((text) => `  costs      ${printable(text)}`),
          `  exactly    ${one.kind} ${oneLine(JSON.stringify(one.args), 300)}`,
        ]
      : [`  state      ${stateWords(one)}`, ...(one.detail === '' ? [] : [`  ${printable(one.detail)}`])]),
  ]
}

/** An approval that expired after a person confirmed it names that person, who did not end it. */
export function stateWords({ state, resolved_by: by }: Pick<ApprovalView, 'state' | 'resolved_by'>): string {
  if (by === null) return state
  if (state === 'expired') return by === 'system' ? state : `confirmed by ${by}, then expired`
  return `${state} by ${by}`
}

async function confirm(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const client = await context.mesh()
  const id = operand(line, 0)
  const shown = await client.call('pendingOne', { params: { id }, signal })
  const isAlways = flagOption(line, 'always')
  let ruleName: string | undefined
  if (shown.state === 'pending') {
    terminal.note(...approvalLines(shown, context), '')
    if (isAlways) {
      const { lines, name } = await proposedRule(context, id)
      terminal.note(...lines, '')
      ruleName = name
    }
    if (!flagOption(line, 'yes')) {
      await confirmByTyping(context, {
        what: `this would ${oneLine(shown.summary, 200)}`,
        question: isAlways ? 'Approve it, and add the rule?' : 'Approve it?',
        answer: 'yes',
      })
    }
  }
  const given = { params: { id }, body: { digest: shown.digest }, signal }
  if (isAlways) {
    const {
      rule,
      not_added: notAdded,
      approval,
    } = await client.call('pendingAlways', {
      ...given,
      body: { ...given.body, ...(ruleName === undefined ? {} : { rule: ruleName }) },
    })
    report(context, approval)
    if (rule !== null) return terminal.note(`Added the rule ${rule.name} to config/policy.yaml.`)
    terminal.note(`No rule was added: ${printable(notAdded ?? '')}`)
    return context.setExitCode(exitCodes.failed)
  }
  // An action in progress is only followed, so that the command can be run again after Ctrl-C.
  const begun = shown.state === 'confirmed' ? shown : await client.call('pendingConfirm', given)
  const read = () => client.call('pendingOne', { params: { id }, signal })
  report(context, await followApproval(begun, { ...context, progress: terminal.progress, read }))
}

/** The rule that --always adds, and exactly what it allows. */
async function proposedRule(
  context: CommandContext,
  id: string,
): Promise<{ readonly lines: readonly string[]; readonly name: string }> {
  const client = await context.mesh()
  const given = { params: { id }, signal: context.signal }
  const { rule, text, allows } = await client.call('pendingAlwaysRule', given)
  const lines = [
    'This rule would be added to config/policy.yaml after the action was carried out:',
    ...text
      .trimEnd()
      .split('\n')
      .map((row) => `  ${printable(row)}`),
    ...allows.map((sentence) => `  ${context.terminal.color.warning('→')} ${printable(sentence)}`),
  ]
  return { lines, name: rule.name }
}

function report({ terminal, setExitCode }: CommandContext, done: ApprovalView): void {
  terminal.printJson(done)
  terminal.print(`${done.id} is ${done.state}: ${printable(done.detail)}`)
  if (done.state !== 'done') setExitCode(exitCodes.failed)
}
