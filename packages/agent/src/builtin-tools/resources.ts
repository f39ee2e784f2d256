import { agentSizeBounds } from '@flotilla/protocol/agent-size'
import { packagesPerRegistryMax, toolboxNames } from '@flotilla/protocol/agent-packages'
import { resourceRequestEndpoints, resourceRequestLimits } from '@flotilla/protocol/resource-requests-api'
import { integer, number, optional, text, textList } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const names = (description: string) =>
  optional(textList(description, { maxItems: packagesPerRegistryMax, maxChars: 300 }))
const reason = text('What you need it for; a person reads it', {
  minChars: 1,
  maxChars: resourceRequestLimits.reasonMaxChars,
})
const { memory_mb: memoryMb, cpus, pids, tmp_mb: tmpMb } = agentSizeBounds

/** What an agent asks of a person in its container: more programs, and another size. */
export function resourceTools(): Tool[] {
  return [
    defineTool({
      name: 'request_packages',
      description:
        'Asks a person for packages of Debian, npm or PyPI in your image, by names with or without a version. Then end your turn: the answer arrives as a new message, and they are installed by then. For libraries of one project use npm or pip below /data instead.',
      parameters: {
        apt: names('Debian packages, such as ripgrep'),
        npm: names('npm packages, such as typescript@5'),
        pip: names('Python packages, such as numpy==2.1.0'),
        toolboxes: names(`Ready lists: ${toolboxNames.join(', ')}`),
        reason,
      },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async ({ reason: why, ...lists }, { mesh, signal, idempotencyKey }) => {
        const packages = Object.fromEntries(
          Object.entries(lists).flatMap(([from, list]) => (list === undefined ? [] : [[from, [...list]]])),
        )
        const body = { packages, reason: why }
        return succeeded(
          await mesh.call({
            endpoint: resourceRequestEndpoints.packagesRequest,
            body,
            signal,
            idempotencyKey,
          }),
        )
      },
    }),
    defineTool({
      name: 'request_size',
      description:
        'Asks a person for another size of your container, or of another agent if you may change it. State what changes. Then end your turn: the answer arrives as a new message.',
      parameters: {
        agent_id: optional(text('Another agent; leave it out for yourself', { minChars: 1, maxChars: 64 })),
        memory_mb: optional(integer('Memory in MB', memoryMb)),
        cpus: optional(number('Processors, such as 0.5', cpus)),
        pids: optional(integer('Processes at the same time', pids)),
        tmp_mb: optional(integer('Size of /tmp in MB', tmpMb)),
        reason,
      },
      effect: 'mesh',
      timeoutMs: meshToolTimeoutMs,
      run: async (values, { mesh, signal, idempotencyKey }) => {
        const body = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
        return succeeded(
          await mesh.call({ endpoint: resourceRequestEndpoints.sizeRequest, body, signal, idempotencyKey }),
        )
      },
    }),
  ]
}
