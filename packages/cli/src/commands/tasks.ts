import { manageActions, taskActions, taskOutcomes, taskStates } from '@flotilla/protocol/task-actions'
import type { ManageAction, TaskOutcome } from '@flotilla/protocol/task-actions'
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { commandAction, numberOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { taskRows } from './fleet-rows.ts'
import { taskLines } from './task-lines.ts'

export function addTasksCommand(program: Command, deps: CliDeps): void {
  const tasks = program
    .command('tasks')
    .description('Lists tasks, newest first; the commands below show, create or change one.')
    .option('--agent <id>', 'only tasks of this agent')
    .option('--project <name>', 'only tasks of this project')
    .addOption(new Option('--state <state>', 'only tasks that are').choices([...taskStates]))
    .option('--limit <count>', 'how many', wholeNumber(1, 500), 50)
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla tasks --state blocked
  $ flotilla tasks show task_0123456789abcdef
  $ flotilla tasks give auditor "Count the licences" --max-usd 0.50
  $ flotilla tasks answer task_0123456789abcdef "the second folder"`,
    )
    .action(commandAction(deps, list))
  tasks
    .command('show')
    .summary('one task with its history')
    .argument('<task>', 'id of the task')
    .addHelpText('after', '\nExample:\n  $ flotilla tasks show TASK')
    .action(commandAction(deps, show))
  tasks
    .command('give')
    .summary('give an agent a task; it starts automatically')
    .argument('<agent>', 'id of the agent')
    .argument('<title>', 'the task, in one line')
    .option('--description <words>', 'everything that the agent needs to know')
    .option('--needs <tasks>', 'ids of tasks that must be done first, separated by commas')
    .option('--max-usd <usd>', 'spending limit in US dollars', dollars)
    .option('--max-turns <count>', 'limit of model calls', wholeNumber(1, 100_000))
    .addHelpText('after', '\nExample:\n  $ flotilla tasks give auditor "Count the licences"')
    .action(commandAction(deps, give))
  for (const action of manageActions) addManage(tasks, deps, action)
  for (const outcome of taskOutcomes) addReview(tasks, deps, outcome)
}

const notes = {
  answer: { syntax: '<words>', text: 'the answer', example: 'TASK "Take the newer list."' },
  retry: { syntax: '[words]', text: 'what is different now', example: 'TASK' },
  reroute: { syntax: '[words]', text: 'why', example: 'TASK writer' },
  cancel: { syntax: '[words]', text: 'why', example: 'TASK' },
} as const satisfies Record<ManageAction, { syntax: string; text: string; example: string }>

function addManage(tasks: Command, deps: CliDeps, action: ManageAction): void {
  const command = tasks
    .command(action)
    .summary(peoplesWords[action])
    .description(`For a task that is ${taskActions[action].from.join(', ')}: ${peoplesWords[action]}.`)
    .argument('<task>', 'id of the task')
    .addHelpText('after', `\nExample:\n  $ flotilla tasks ${action} ${notes[action].example}`)
  if (action === 'reroute') command.argument('<agent>', 'id of the agent that gets it')
  command.argument(notes[action].syntax, notes[action].text).action(
    commandAction(deps, async (context, line) => {
      const to = action === 'reroute' ? { to: operand(line, 1) } : {}
      const note = line.operands[action === 'reroute' ? 2 : 1] ?? ''
      const task = await (
        await context.mesh()
      ).call('taskManage', {
        params: { id: operand(line, 0) },
        body: { action, note, ...to },
        signal: context.signal,
      })
      context.terminal.printJson(task)
      context.terminal.print(`${task.id} is ${task.state}${task.waits_for ? `: ${task.waits_for}` : ''}.`)
    }),
  )
}

const peoplesWords = {
  answer: 'answers the question of a blocked task; its agent continues',
  retry: 'continues a blocked task; for a failed or cancelled one, creates a new task',
  reroute: 'gives an open task to another agent',
  cancel: 'cancels an open task, with the tasks handed off from it',
} as const satisfies Record<ManageAction, string>

const verdicts = {
  accepted: {
    name: 'accept',
    summary: 'accept the result',
    syntax: '[comment]',
  },
  rework: { name: 'rework', summary: 'request it again with your comment', syntax: '<comment>' },
  rejected: { name: 'reject', summary: 'reject the result, and say why', syntax: '<comment>' },
} as const satisfies Record<TaskOutcome, { name: string; summary: string; syntax: string }>

function addReview(tasks: Command, deps: CliDeps, outcome: TaskOutcome): void {
  const { name, summary, syntax } = verdicts[outcome]
  tasks
    .command(name)
    .summary(summary)
    .description(
      `Reviews a task that has ended: ${summary}. The review goes into the learnings of its agent.`,
    )
    .argument('<task>', 'id of the task')
    .argument(syntax, 'why, for its agent')
    .addHelpText('after', `\nExample:\n  $ flotilla tasks ${name} TASK "The totals are what was wanted."`)
    .action(
      commandAction(deps, async (context, line) => {
        const reply = await (
          await context.mesh()
        ).call('taskReview', {
          params: { id: operand(line, 0) },
          body: { outcome, comment: line.operands[1] ?? '' },
          signal: context.signal,
        })
        context.terminal.printJson(reply)
        context.terminal.print(`${reply.task.id}: ${outcome}.`)
        if (reply.rework) context.terminal.print(`Reworked as ${reply.rework.id}.`)
      }),
    )
}

async function list(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const [agent, project] = [textOption(line, 'agent'), textOption(line, 'project')]
  const state = taskStates.find((known) => known === textOption(line, 'state'))
  const reply = await (
    await context.mesh()
  ).call('tasks', {
    query: {
      limit: numberOption(line, 'limit') ?? 50,
      ...(agent === undefined ? {} : { agent }),
      ...(project === undefined ? {} : { project }),
      ...(state === undefined ? {} : { state }),
    },
    signal,
  })
  terminal.printJson(reply)
  const isFiltered = [agent, project, state].some((filter) => filter !== undefined)
  const none = isFiltered ? 'No task matches these options.' : 'No tasks yet.'
  terminal.print(...(reply.tasks.length === 0 ? [none] : taskRows(reply.tasks)))
}

async function show(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('task', { params: { id: operand(line, 0) }, signal })
  terminal.printJson(reply)
  terminal.print(...taskLines(reply))
}

async function give(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const usd = numberOption(line, 'maxUsd')
  const turns = numberOption(line, 'maxTurns')
  const needs = (textOption(line, 'needs') ?? '').split(',').map((id) => id.trim())
  const reply = await (
    await context.mesh()
  ).call('taskGive', {
    body: {
      to: operand(line, 0),
      title: operand(line, 1),
      description: textOption(line, 'description') ?? '',
      needs: needs.filter((id) => id !== ''),
      ...(usd === undefined ? {} : { token_budget: { max_tokens: null, max_cost_usd: usd } }),
      ...(turns === undefined ? {} : { max_turns: turns }),
    },
    idempotencyKey: context.newKey(),
    signal,
  })
  terminal.printJson(reply)
  terminal.print(`${reply.task.id} is given to ${reply.task.assignee}.`)
  if (reply.note !== null) terminal.print(reply.note)
}

function dollars(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value > 0)) throw new InvalidArgumentError('Expected US dollars, such as 0.50.')
  return value
}
