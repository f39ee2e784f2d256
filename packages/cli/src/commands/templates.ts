import type { Command } from 'commander'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { printable } from '../terminal/color.ts'
import { renderTable } from '../terminal/table.ts'
import { ownTemplateHelp } from './apply.ts'

export function addTemplatesCommand(program: Command, deps: CliDeps): void {
  const templates = program
    .command('templates')
    .description(
      'Lists ready-made fleets: those that come with Flotilla, and yours in templates/ of the home folder, which override built-in ones of the same name.',
    )
    .addHelpText(
      'after',
      `\nExamples:\n  $ flotilla templates\n  $ flotilla templates show research-desk\n${ownTemplateHelp}`,
    )
    .action(commandAction(deps, list))
  templates
    .command('list')
    .summary('all templates')
    .description('Lists all templates with their agents, and the errors of broken ones.')
    .addHelpText('after', '\nExample:\n  $ flotilla templates list --json')
    .action(commandAction(deps, list))
  templates
    .command('show')
    .summary('the text of a template')
    .description('Prints the file of a template, to read it or to start your own from it.')
    .argument('<name>', 'name of the template')
    .addHelpText('after', '\nExample:\n  $ flotilla templates show starter > ~/.flotilla/templates/mine.yaml')
    .action(commandAction(deps, show))
}

async function list(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('templates', { signal })
  terminal.printJson(reply)
  terminal.hint(
    ...renderTable(
      [
        { title: 'TEMPLATE' },
        { title: 'FROM' },
        { title: 'AGENTS', columnsMax: 30 },
        { title: 'WHAT IT DOES', columnsMax: 70 },
      ],
      reply.templates.map(({ name, from, agents, description, broken }) => [
        name,
        from === 'home' ? 'yours' : 'Flotilla',
        agents.join(', '),
        broken === null
          ? printable(description)
          : terminal.color.bad(`cannot be applied: ${printable(broken)}`),
      ]),
    ),
    'flotilla apply NAME shows what a template would change, and asks first.',
  )
}

async function show(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('template', { params: { name: operand(line, 0) }, signal })
  terminal.printJson(reply)
  terminal.printText(reply.text.replace(/\n$/, ''))
}
