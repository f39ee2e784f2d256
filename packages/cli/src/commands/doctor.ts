import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { askMeshProgram } from '../mesh-process/ask-mesh-program.ts'
import type { Color } from '../terminal/color.ts'

const findingSchema = z.looseObject({
  id: z.string(),
  ok: z.boolean(),
  level: z.enum(['ok', 'warning', 'error']),
  detail: z.string(),
  repair: z.optional(z.string()),
})
const findingsSchema = z.looseObject({ findings: z.array(findingSchema) })
type Finding = z.infer<typeof findingSchema>

const timeoutMs = 120_000

export function addDoctorCommand(program: Command, deps: CliDeps): void {
  program
    .command('doctor')
    .description(
      'Checks engine, network walls, file modes, ports and keys. Changes nothing. Each finding has an id and a repair. Exit code 1 when one is an error.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla doctor\n  $ flotilla doctor --json | jq -r ".findings[] | select(.ok | not) | .repair"',
    )
    .action(commandAction(deps, doctor))
}

async function doctor(context: CommandContext): Promise<void> {
  const { terminal, place, environment } = context
  const show = (findings: readonly Finding[]) =>
    terminal.hint(...findings.flatMap((finding) => findingLines(finding, terminal.color)))
  terminal.progress.step('Checking engine, network, files, ports and keys')
  const answer = await askMeshProgram({
    verb: 'doctor',
    home: place.home,
    extra: place.port === undefined ? [] : ['--port', `${place.port}`],
    environment: environment.childEnvironment({}),
    signal: context.signal,
    timeoutMs,
    heard: (line) => {
      if (line.kind === 'found') show(z.array(findingSchema).parse(line.findings))
    },
  })
  terminal.progress.done()
  const notices = await noticesOfMesh(context)
  show(notices)
  const findings = [...findingsSchema.parse(answer).findings, ...notices]
  terminal.printJson({ findings })
  if (findings.some((finding) => finding.level === 'error')) context.setExitCode(exitCodes.failed)
}

/** Settings without effect, which only a running mesh knows; empty if no mesh answers. */
async function noticesOfMesh({ mesh, signal }: CommandContext): Promise<readonly Finding[]> {
  const reply = await mesh()
    .then((client) => client.call('status', { signal }))
    .catch(() => null)
  return (reply?.notices ?? []).map((notice) => ({
    id: 'setting-without-effect',
    ok: false,
    level: 'warning',
    detail: notice,
  }))
}

export function findingLines(finding: Finding, color: Color): string[] {
  const mark = { ok: color.good('✓'), warning: color.warning('!'), error: color.bad('✗') }[finding.level]
  const repair = (finding.repair ?? '').split('\n').filter((line) => line !== '')
  return [
    `${mark} ${color.strong(finding.id)}  ${finding.detail}`,
    ...repair.map((line, index) => `    ${color.faint(index === 0 ? 'repair' : '      ')} ${line}`),
  ]
}
