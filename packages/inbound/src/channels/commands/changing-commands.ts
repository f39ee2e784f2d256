import { Problem } from '@flotilla/protocol/problem'
import { channelLimits } from '../channel-limits.ts'
import { conversationOf, sessionAt } from '../conversation.ts'
import type { RunPlace } from '../delivery/run-places.ts'
import type { ChannelCommand, CommandCall, CommandDeps } from './channel-command.ts'
import { agentHere, agentsFor, namedAgent } from './find-agent.ts'
import { giveToAgent, keyOf } from './give-to-agent.ts'

export const broadcast: ChannelCommand = {
  name: 'broadcast',
  usage: 'text',
  help: 'send a message to every agent that you may talk to',
  role: 'owner',
  when: 'at-once',
  run: (deps, call) => {
    if (call.argument === '') throw usageProblem('/broadcast and a message')
    const open = agentsFor(deps, call)
    if (open.length > channelLimits.broadcastMax) {
      throw new Problem('bad-request', {
        detail: `there are ${open.length} agents, and a broadcast goes to at most ${channelLimits.broadcastMax}; write to single agents with @agent`,
      })
    }
    const given = open.map(({ id }) => giveToAgent(deps, call, { agentId: id, text: call.argument }))
    const [first] = given
    // In a group the reply contains only the number of agents.
    const recipients = call.message.place.isPrivate
      ? open.map(({ id }) => id).join(', ')
      : `${open.length} agent${open.length === 1 ? '' : 's'}`
    return {
      text:
        given.length === 0
          ? 'You may talk to no agent, so the message was not sent.'
          : `Sent to ${recipients}.`,
      ...(first === undefined ? {} : { runId: first, became: 'run' }),
    }
  },
}

export const steer: ChannelCommand = {
  name: 'steer',
  usage: '[@agent] text',
  help: 'send a message to an agent that is working',
  // Only owners may steer: a steer can change a run of another person; a chat account does not prove who types.
  role: 'owner',
  when: 'at-once',
  asks: (deps, call) => [{ do: 'steer-agent', to: steered(deps, call).agentId, gave: false }],
  run: (deps, call) => {
    const { agentId, text } = steered(deps, call)
    const reply = deps.runs.steerRun(call.caller, {
      agentId,
      text,
      idempotencyKey: keyOf(call, agentId),
    })
    const ownRun = reply.becameRunId
    if (ownRun !== null) {
      const { channel, person, message } = call
      const place = { runId: ownRun, channel, person, agentId, place: message.place, replyToId: message.id }
      deps.places.add(place, deps.now())
      return {
        text: `${agentId} was idle, and starts a run with your message now.`,
        became: 'run',
        runId: ownRun,
      }
    }
    return {
      text: `Sent to ${agentId}, which reads your message before its next step.`,
      became: 'steer',
      ...(reply.runId === null ? {} : { runId: reply.runId }),
    }
  },
}

export const stop: ChannelCommand = {
  name: 'stop',
  usage: '[agent]',
  help: 'cancel your unfinished requests here: those to one agent, or all',
  role: 'member',
  when: 'at-once',
  asks: (deps, call) => stoppable(deps, call).map(({ agentId }) => ({ do: 'submit-run', to: agentId })),
  run: (deps, call) => {
    const open = stoppable(deps, call)
    for (const { runId } of open) deps.runs.cancelRun(call.caller, runId)
    if (open.length === 0) return { text: 'You have no unfinished requests here.' }
    const agents = [...new Set(open.map(({ agentId }) => agentId))].join(', ')
    return { text: `Stopped: ${agents}.` }
  },
}

export const reset: ChannelCommand = {
  name: 'reset',
  usage: '[agent]',
  help: 'start a new conversation with an agent; the old one is archived',
  role: 'member',
  when: 'later',
  run: async (deps, call) => {
    const agentId =
      call.argument === '' ? agentHere(deps, call) : namedAgent(deps, call, call.argument.replace(/^@/, ''))
    if (agentId === null) throw usageProblem('/reset and an agent')
    const session = sessionAt(call.caller, call.message.place)
    const { archived_messages: count } = await deps.runs.sessions.reset(call.caller, agentId, session)
    return { text: `${agentId} starts a new conversation here; ${count} messages are archived.` }
  },
}

/** Returns the agent and the text of a `/steer` command. Throws a Problem if one of them is missing. */
function steered(deps: CommandDeps, call: CommandCall): { readonly agentId: string; readonly text: string } {
  const [, name, rest = ''] = /^(?:@(\S+)\s+)?([\s\S]*)$/.exec(call.argument) ?? []
  const agentId = name === undefined ? agentHere(deps, call) : namedAgent(deps, call, name)
  const text = rest.trim()
  if (text === '' || agentId === null) throw usageProblem('/steer @agent and a message')
  return { agentId, text }
}

/** Returns the person's unfinished runs in this conversation; if `/stop` names an agent, only that agent's runs. */
function stoppable(deps: CommandDeps, call: CommandCall): readonly RunPlace[] {
  const agentId = call.argument === '' ? null : namedAgent(deps, call, call.argument.replace(/^@/, ''))
  const here = conversationOf(call.message.place)
  return deps.places
    .openOf(call.channel, call.person)
    .filter(({ place }) => conversationOf(place) === here)
    .filter((run) => agentId === null || run.agentId === agentId)
}

function usageProblem(what: string): Problem {
  return new Problem('bad-request', { detail: `write ${what}` })
}
