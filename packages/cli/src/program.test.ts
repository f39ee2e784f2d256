import { Readable } from 'node:stream'
import { CommanderError } from 'commander'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { commandTable } from './command-table.ts'
import { readChatOperands } from './commands/chat.ts'
import type { CliDeps } from './context.ts'
import { readEnvironment } from './environment.ts'
import { keepText, stillClock } from './fake-terminal.ts'
import { createInterrupts } from './interrupts.ts'
import { createProgram, createWholeProgram, meantCommand, withoutHelpOfNone } from './program.ts'

function someDeps() {
  const out = keepText()
  const err = keepText()
  const interrupts = createInterrupts(() => 0)
  const deps: CliDeps = {
    environment: readEnvironment({ HOME: '/home/nobody', FLOTILLA_HOME: '/nowhere/flotilla' }),
    clock: stillClock,
    out,
    err,
    input: Readable.from([]),
    newKey: () => 'key',
    signal: interrupts.signal,
    onInterrupt: interrupts.onInterrupt,
    setExitCode: () => undefined,
    runLine: () => Promise.resolve(),
    wholeProgram: () => Promise.reject(new Error('nobody asks')),
  }
  return { deps, out, err }
}

function everyCommand(command: Command): readonly Command[] {
  return command.commands.flatMap((child) => [child, ...everyCommand(child)])
}

/** The text of `--help`, including what was added to it. */
function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (words) => (text += words) }).outputHelp()
  return text
}

async function run(...words: string[]) {
  const { deps, out, err } = someDeps()
  const program = await createProgram(deps, words)
  const error = await program.parseAsync([...withoutHelpOfNone(program, words)], { from: 'user' }).then(
    () => null,
    (reason: unknown) => reason,
  )
  return { error, out: out.text(), err: err.text() }
}

describe('command line', () => {
  it('the command line has a line of summary, a description and an example for every command', async () => {
    const whole = everyCommand(await createWholeProgram(someDeps().deps))
    const named = (found: readonly Command[]) => found.map((command) => command.name())
    expect(named(whole.filter((command) => command.summary() === ''))).toEqual([])
    expect(named(whole.filter((command) => command.description() === ''))).toEqual([])
    expect(named(whole.filter((command) => !helpOf(command).includes('  $ flotilla')))).toEqual([])
  })

  it('the command line adds just the commands that its table names, in its order', async () => {
    const whole = await createWholeProgram(someDeps().deps)
    const inTable = commandTable.flatMap(({ groups }) =>
      groups.flatMap(({ commands }) => Object.keys(commands)),
    )
    expect(whole.commands.map((command) => command.name())).toEqual(inTable)
  })

  it.each([
    [['status', '--watch'], 'status'],
    [['--home', 'chat', '--json', 'status'], 'status'],
    [['--home=chat', 'status', 'chat'], 'status'],
    [['help', 'cron'], 'cron'],
    [['--', 'runs'], 'runs'],
    [['--help'], null],
  ])('the command line takes of %j the command %s', (words, meant) => {
    expect(meantCommand(words)).toBe(meant)
  })

  it.each([
    'demo',
    'start',
    'stop',
    'status',
    'chat',
    'steer',
    'invoke',
    'runs',
    'tasks',
    'costs',
    'budget',
    'artifacts',
    'blackboard',
    'apply',
    'put',
    'restart',
    'pending',
    'confirm',
    'permissions',
    'edit',
    'changes',
    'undo',
    'delete',
    'journal',
    'doctor',
    'record',
    'events',
    'reset',
    'version',
  ])('the command line knows %s, and its help names the options that all commands share', async (name) => {
    const { error, out } = await run(name, '--help')
    expect(error).toBeInstanceOf(CommanderError)
    expect(out).toContain(`Usage: flotilla ${name}`)
    expect(out).toContain('--json')
    expect(out).toContain('--home')
  })

  it('the command line teaches by examples where a command has operands', async () => {
    for (const name of ['budget', 'costs', 'start', 'chat', 'invoke', 'put', 'record', 'runs', 'status']) {
      expect((await run(name, '--help')).out).toContain(`$ `)
    }
  })

  it.each([
    ['an unknown command', ['fly']],
    ['an unknown option', ['status', '--fast']],
    ['a missing operand', ['put', 'auditor']],
    ['a spare operand', ['restart', 'auditor', 'now']],
    ['a port that is none', ['status', '--port', '70000']],
    ['a runtime that is none', ['start', '--runtime', 'magic']],
    ['a limit that is no number', ['runs', '--limit', 'many']],
    ['a webhook switched on and off', ['webhooks', 'set', 'hook_1', '--on', '--off']],
    ['repeats refused and accepted', ['webhooks', 'set', 'hook_1', '--accept-repeats', '--refuse-repeats']],
  ])('the command line refuses %s as a usage error and points to --help', async (_what, words) => {
    const { error, err, out } = await run(...words)
    expect(error).toMatchObject({ exitCode: 1 })
    expect(err).toContain('--help')
    expect(out).toBe('')
  })
})

it('the program names its own word where another program has another', async () => {
  const { error, err } = await run('unpause')
  expect(error).toMatchObject({ exitCode: 1 })
  expect(err).toContain('flotilla resume')
  expect((await run('stauts')).err).toContain('Did you mean status?')
  expect((await run('cron', 'ad')).err).toContain('Did you mean add?')
  // A request for help of a mistyped command is not answered with the help of all commands.
  for (const words of [
    ['stauts', '--help'],
    ['help', 'stauts'],
  ])
    expect((await run(...words)).err).toContain('Did you mean status?')
  expect((await run('cron', 'ad', '-h')).err).toContain('Did you mean add?')
  expect((await run('status', '--jsno')).err).toContain('Did you mean --json?')
  expect((await run('costs', '--by', 'modle')).err).toContain('Did you mean model?')
  expect((await run('completion', 'bsah')).err).toContain('Did you mean bash?')
  expect((await run('completion', 'tcsh-of-old')).err).not.toContain('Did you mean')
})

describe('a noun without a verb', () => {
  it('a noun without a verb shows what there is, and a word that is no verb is named with those that are', async () => {
    const whole = await createWholeProgram(someDeps().deps)
    const groups = whole.commands.filter(
      ({ commands, registeredArguments }) => commands.length > 0 && registeredArguments.length === 0,
    )
    expect(groups.length).toBeGreaterThan(10)
    for (const group of groups) {
      const name = group.name()
      const bare = await run(name)
      // The journal is verified and exported, never listed.
      if (name === 'journal') expect(bare.error).toBeInstanceOf(CommanderError)
      else expect.soft(bare.error, name).not.toBeInstanceOf(CommanderError)
      const { error, err } = await run(name, 'no-verb', 'more')
      expect(error, name).toMatchObject({ exitCode: 1 })
      expect(err).toContain("unknown command 'no-verb'")
      if (name !== 'journal') expect(err).toContain(`flotilla ${name} takes: ${group.commands[0]?.name()}`)
    }
  })
})

describe('operands of chat', () => {
  it.each([
    [[], { agentId: 'operator', message: '' }],
    [['auditor'], { agentId: 'auditor', message: '' }],
    [['auditor', 'how', 'many?'], { agentId: 'auditor', message: 'how many?' }],
    [['Hello'], { agentId: 'operator', message: 'Hello' }],
    [['What can you do?'], { agentId: 'operator', message: 'What can you do?' }],
    [['Sum', 'up', 'the', 'news'], { agentId: 'operator', message: 'Sum up the news' }],
    [['Sum up the news'], { agentId: 'operator', message: 'Sum up the news' }],
    [['What is this?', 'And that?'], { agentId: 'operator', message: 'What is this? And that?' }],
    [['aud'], { agentId: 'operator', message: 'aud' }],
    [['operator', '-'], { agentId: 'operator', message: '-' }],
    [['-'], { agentId: 'operator', message: '-' }],
  ])('%j mean %j', (operands, expected) => {
    expect(readChatOperands(operands, ['auditor'])).toEqual(expected)
  })

  it('a first word that resembles the id of an agent is refused, and costs no model call', () => {
    expect(() => readChatOperands(['audtior', 'how many?'], ['auditor'])).toThrow('did you mean auditor?')
  })

  it.each([
    [['tight', 'Hello'], 'there is no agent tight; the agents are auditor, operator'],
    [['auditr', 'Hello'], 'there is no agent auditr; did you mean auditor?'],
  ])('%j begins with an agent that does not exist, and is sent to no other', (operands, detail) => {
    expect(() => readChatOperands(operands, ['auditor'])).toThrow(
      expect.objectContaining({
        message: detail,
        repair: expect.stringContaining('To ask the operator, quote the whole message') as string,
        exitCode: 2,
      }),
    )
  })
})

describe('interrupts', () => {
  it('an interrupt goes to the newest listener first, and a second one ends the command', () => {
    let now = 0
    const interrupts = createInterrupts(() => now)
    const told: string[] = []
    interrupts.onInterrupt(() => told.push('outer'))
    const giveBack = interrupts.onInterrupt(() => told.push('inner'))
    const interruptLater = () => {
      now += 1000
      interrupts.interrupt()
    }
    interruptLater()
    giveBack()
    interruptLater()
    expect(told).toEqual(['inner', 'outer'])
    expect(interrupts.signal.aborted).toBe(false)
    interruptLater()
    expect(interrupts.signal.aborted).toBe(true)
  })

  it('interrupts that arrive together count as one keystroke', () => {
    const interrupts = createInterrupts(() => 5000)
    const told: string[] = []
    interrupts.onInterrupt(() => told.push('cancel'))
    interrupts.interrupt()
    interrupts.interrupt()
    interrupts.interrupt()
    expect(told).toEqual(['cancel'])
    expect(interrupts.signal.aborted).toBe(false)
  })
})

describe('environment', () => {
  it('the environment treats an empty value as absent and keeps its own names from the mesh', () => {
    const environment = readEnvironment({
      FLOTILLA_PORT: '',
      FLOTILLA_URL: 'http://x',
      PATH: '/bin',
      FLOTILLA_HOME: '/h',
    })
    expect(environment.port).toBeUndefined()
    expect(environment.childEnvironment({ A: 'b', PATH: undefined })).toEqual({
      FLOTILLA_PORT: '',
      FLOTILLA_HOME: '/h',
      A: 'b',
    })
  })
})
