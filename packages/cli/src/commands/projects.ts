import { readFile } from 'node:fs/promises'
import type { ManagedProject, ProjectView } from '@flotilla/protocol/project-api'
import { manageProjectWords } from '@flotilla/protocol/project-limits'
import type { ManageProjectAction } from '@flotilla/protocol/project-limits'
import type { Command } from 'commander'
import { commandAction, flagOption, numberOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { confirmByTyping } from '../terminal/confirm.ts'
import { oneLine } from '../terminal/color.ts'
import { formatTime, formatUsd } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

const verbs = {
  create: { name: 'create', agents: '[agents...]', example: 'acme scout auditor' },
  add_members: { name: 'add', agents: '<agents...>', example: 'acme auditor' },
  remove_members: { name: 'remove', agents: '<agents...>', example: 'acme auditor' },
  archive: { name: 'archive', agents: null, example: 'acme' },
  unarchive: { name: 'unarchive', agents: null, example: 'acme' },
} as const satisfies Record<ManageProjectAction, { name: string; agents: string | null; example: string }>

export function addProjectsCommand(program: Command, deps: CliDeps): void {
  const projects = program
    .command('projects')
    .description(
      'Lists projects. Members read the goal and sections in PROJECT.md; only members can access keys and topics under projects/NAME/. The budget of a project: flotilla budget project:NAME.',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla projects create acme scout auditor
  $ flotilla projects goal acme "Every licence is known."
  $ flotilla projects write acme Customers @customers.md
  $ flotilla projects show acme`,
    )
    .action(commandAction(deps, list))
  projects
    .command('show')
    .summary('one project with its texts, members and tasks')
    .argument('<name>', 'name of the project')
    .addHelpText('after', '\nExample:\n  $ flotilla projects show atlas')
    .action(commandAction(deps, show))
  for (const action of Object.keys(verbs) as ManageProjectAction[]) addManage(projects, deps, action)
  projects
    .command('delete')
    .summary('delete an archived project permanently')
    .description(
      'Deletes an archived project: its texts, its keys of the blackboard, its topics, its budget and the files shared in it. Tasks, costs and the audit log keep its name.',
    )
    .argument('<name>', 'name of the project')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  $ flotilla projects delete acme')
    .action(commandAction(deps, remove))
  projects
    .command('goal')
    .summary('write the goal')
    .argument('<name>', 'name of the project')
    .argument('<text>', 'the goal; @file reads it from a file')
    .option('--criteria <lines>', 'criteria for reaching it, separated by ;')
    .option('--over <version>', 'only replace this version; default: the current one', wholeNumber(0, 1e9))
    .addHelpText('after', '\nExample:\n  $ flotilla projects goal atlas "Have every licence on one page."')
    .action(commandAction(deps, goal))
  projects
    .command('write')
    .summary('write one section of its context; an empty text removes it')
    .argument('<name>', 'name of the project')
    .argument('<section>', 'heading of the section')
    .argument('<text>', 'the whole new text; @file reads it from a file')
    .option('--over <version>', 'only replace this version; default: the current one', wholeNumber(0, 1e9))
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla projects write atlas decisions "Only permissive licences."',
    )
    .action(commandAction(deps, write))
}

function addManage(projects: Command, deps: CliDeps, action: ManageProjectAction): void {
  const { name, agents, example } = verbs[action]
  const command = projects
    .command(name)
    .summary(manageProjectWords[action])
    .argument('<name>', 'name of the project')
    .addHelpText('after', `\nExample:\n  $ flotilla projects ${name} ${example}`)
  if (agents !== null) command.argument(agents, 'ids of agents')
  command.action(
    commandAction(deps, async (context, line) => {
      const [project = '', ...members] = line.operands
      const reply = await (
        await context.mesh()
      ).call('projectManage', {
        params: { name: project },
        body: { action, agents: members },
        signal: context.signal,
      })
      printProject(context, reply)
    }),
  )
}

function printProject({ terminal }: CommandContext, project: ManagedProject): void {
  terminal.printJson(project)
  const members = project.members.length === 0 ? 'none' : project.members.join(', ')
  const state = project.archived_at === null ? '' : ' It is archived.'
  terminal.print(
    `Members of ${project.name}: ${members}.${state}`,
    ...project.moved.map(({ agent, from }) => `${agent} is moved here from ${from}.`),
  )
}

async function list(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('projects', { signal })
  terminal.printJson(reply)
  if (reply.projects.length === 0) return terminal.print('No projects yet.')
  const titles = ['PROJECT', 'MEMBERS', 'TASKS', 'GOAL'].map((title) => ({ title }))
  terminal.print(
    ...renderTable(
      titles,
      reply.projects.map((one) => [
        one.archived_at === null ? one.name : `${one.name} (archived)`,
        oneLine(one.members.join(', '), 60),
        tasksOf(one.tasks),
        oneLine(one.goal, 60),
      ]),
    ),
  )
}

function tasksOf(tasks: Readonly<Record<string, number>>): string {
  return Object.entries(tasks)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')
}

async function show(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('project', { params: { name: operand(line, 0) }, signal })
  terminal.printJson(reply)
  const { budget } = reply
  const limit = (usd: number | null) => (usd === null ? 'no limit' : formatUsd(usd))
  const named = (tasks: ProjectView['blocked']) =>
    tasks.map(({ id, title, summary }) => `  ${id} ${oneLine(title, 60)}: ${oneLine(summary, 120)}`)
  terminal.print(
    `${reply.name}${reply.archived_at === null ? '' : ' (archived)'}: ${oneLine(reply.goal, 300) || 'no goal yet'}`,
    ...reply.criteria.map((one) => `  reached when: ${oneLine(one, 200)}`),
    `Members: ${reply.members.join(', ') || 'none'}`,
    `Tasks: ${tasksOf(reply.tasks) || 'none'}`,
    `Money: ${formatUsd(budget.today_usd)} today of ${limit(budget.daily_usd)}, ${formatUsd(budget.month_usd)} this month of ${limit(budget.monthly_usd)}`,
    ...(reply.blocked.length === 0 ? [] : ['Blocked:', ...named(reply.blocked)]),
    ...(reply.done.length === 0 ? [] : ['Done last:', ...named(reply.done)]),
  )
  const titles = ['SECTION', 'VERSION', 'BY', 'WRITTEN (UTC)', 'TEXT'].map((title) => ({ title }))
  const rows = reply.sections.map((one) => [
    one.name,
    `${one.version}`,
    one.updated_by,
    formatTime(one.updated_at),
    oneLine(one.text, 80),
  ])
  if (rows.length > 0) terminal.print(...renderTable(titles, rows))
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const client = await context.mesh()
  const name = operand(line, 0)
  // Fails for a missing project before the person has to type its name.
  await client.call('project', { params: { name }, signal })
  if (!flagOption(line, 'yes')) {
    await confirmByTyping(context, {
      what: `projects delete removes project ${name} and all its data permanently`,
      question: `Delete project ${name} and all its data permanently?`,
      answer: name,
    })
  }
  const reply = await client.call('projectDelete', { params: { name }, signal })
  terminal.printJson(reply)
  terminal.print(`${reply.deleted} is deleted.`)
}

async function goal(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const name = operand(line, 0)
  const before = await client.call('project', { params: { name }, signal: context.signal })
  const criteria = textOption(line, 'criteria')
  const lines = criteria?.split(';').map((one) => one.trim())
  const reply = await client.call('projectWrite', {
    params: { name },
    body: {
      text: await textOf(operand(line, 1)),
      expected_version: numberOption(line, 'over') ?? before.goal_version,
      ...(lines === undefined ? {} : { criteria: lines.filter((one) => one !== '') }),
    },
    signal: context.signal,
  })
  context.terminal.printJson(reply)
  context.terminal.print(`The goal of ${name} is at version ${reply.goal_version}.`)
}

async function write(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const [name, section] = [operand(line, 0), operand(line, 1)]
  const before = await client.call('project', { params: { name }, signal: context.signal })
  const known = before.sections.find((one) => one.name === section)
  const reply = await client.call('projectWrite', {
    params: { name },
    body: {
      section,
      text: await textOf(operand(line, 2)),
      expected_version: numberOption(line, 'over') ?? known?.version ?? 0,
    },
    signal: context.signal,
  })
  context.terminal.printJson(reply)
  const now = reply.sections.find((one) => one.name === section)
  context.terminal.print(
    now ? `${section} of ${name} is at version ${now.version}.` : `${section} of ${name} is removed.`,
  )
}

function textOf(argument: string): Promise<string> | string {
  return argument.startsWith('@') ? readFile(argument.slice(1), 'utf8') : argument
}
