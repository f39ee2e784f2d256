import type { Command } from 'commander'
import { commandAction } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { endLeftAgents } from '../mesh-process/end-left-agents.ts'
import type { LeftAgents } from '../mesh-process/end-left-agents.ts'
import { readMeshFile } from '../mesh-process/mesh-file.ts'
import { meshToStop, stopMeshProcess } from '../mesh-process/stop-mesh.ts'

export function addStopCommand(program: Command, deps: CliDeps): void {
  program
    .command('stop')
    .description(
      'Stops the mesh of a home folder and its agents. Queued and running runs are kept and continue at the next start. With an agent, only its container is stopped; its next work starts it.',
    )
    .argument('[agent]', 'id of one agent')
    .addHelpText('after', '\nExamples:\n  $ flotilla stop --home /srv/fleet\n  $ flotilla stop auditor')
    .action(commandAction(deps, stop))
}

async function stop(context: CommandContext, line: CommandLine): Promise<void> {
  const [agent] = line.operands
  await (agent === undefined ? stopMesh(context) : stopAgent(context, agent))
}

async function stopAgent({ terminal, mesh, signal }: CommandContext, id: string): Promise<void> {
  terminal.progress.step(`Stopping ${id}`)
  const agent = await (await mesh()).call('agentStop', { params: { id }, signal })
  terminal.progress.done()
  terminal.printJson(agent)
  terminal.print(`${id} is ${agent.state}. Its next work starts it.`)
}

async function stopMesh(context: CommandContext): Promise<void> {
  const { terminal, place, clock, signal } = context
  const found = await meshToStop(place.home)
  if (found === null) {
    const agents = await endLeftAgents(context)
    terminal.printJson({
      stopped: false,
      home: place.home,
      agents_ended: agents.ended,
      agents_left: agents.left,
    })
    terminal.print(`No mesh runs in ${place.home}.`)
    showLeft(terminal, agents)
    return
  }
  const pid = (await readMeshFile(place.home))?.mesh.pid ?? found.pid
  terminal.progress.step(`Stopping the agents and the mesh (process ${pid})`)
  await stopMeshProcess(found, clock, signal)
  const agents = await endLeftAgents(context)
  terminal.progress.done()
  const { ended, left } = agents
  terminal.printJson({ stopped: true, home: place.home, pid, agents_ended: ended, agents_left: left })
  showLeft(terminal, agents)
  terminal.hint('Stopped. flotilla start continues the queued runs.')
}

/** Says what became of agents that a crashed mesh had left running. */
function showLeft(terminal: CommandContext['terminal'], { ended, left }: LeftAgents): void {
  if (ended.length > 0)
    terminal.print(`Ended agents that a crashed mesh had left running: ${ended.join(', ')}.`)
  if (left !== null)
    terminal.hint(`The mesh had crashed, and its agents may still run. End them with: ${left}`)
}
