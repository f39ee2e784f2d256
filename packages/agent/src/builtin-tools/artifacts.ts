import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { toolEndpoints } from '@flotilla/protocol/tool-api'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { DataFiles } from '../files/data-files.ts'
import { flag, optional, text, withDefault } from '../tools/parameters.ts'
import { defineTool, meshToolTimeoutMs, succeeded } from '../tools/tool.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'
import { refuseIdentityFile, takeLines } from './files.ts'

const agent = optional(
  text(
    'Agent whose artifacts are listed; default: you. Of other agents you see only the artifacts that a task or your project shares with you.',
    {
      maxChars: 64,
    },
  ),
)

/** Reads files that `save_artifact` stored outside the container. */
export function artifactTools(deps: { files: DataFiles }): Tool[] {
  return [
    defineTool({
      name: 'list_artifacts',
      description: 'Lists the files that were saved outside a container with save_artifact, newest first.',
      parameters: {
        agent,
        shared: withDefault(flag('true: list the artifacts that members of your project share'), false),
      },
      effect: 'none',
      parallelSafe: true,
      timeoutMs: meshToolTimeoutMs,
      run: async (values, { mesh, signal }) =>
        succeeded(
          await mesh.call({
            endpoint: toolEndpoints.artifacts,
            query: { ...ownerOf(values.agent), ...(values.shared ? { shared: 'true' } : {}) },
            signal,
          }),
        ),
    }),
    defineTool({
      name: 'read_artifact',
      description:
        'Reads a text artifact that was saved with save_artifact. With save_to, the artifact (of any type) is written to a file below /data instead.',
      parameters: {
        name: text('Its name', { minChars: 1, maxChars: 200 }),
        agent,
        save_to: optional(text('File below /data to write the artifact to', { minChars: 1, maxChars: 4096 })),
      },
      // With `save_to` the tool writes a file; a repeated call writes the same file again.
      effect: 'none',
      parallelSafe: (input) => input['save_to'] === undefined || input['save_to'] === null,
      timeoutMs: meshToolTimeoutMs,
      run: async (values, context) => {
        const content = await contentOf(values, context)
        const path = values.save_to
        if (path !== undefined) {
          const size = await deps.files.write(path, content, { refuse: refuseIdentityFile })
          return succeeded({ path, size_bytes: size })
        }
        if (content.includes(0)) {
          throw new Problem('unprocessable', {
            detail: 'The artifact is not text; give save_to to write it to a file.',
          })
        }
        return succeeded(takeLines(content.toString('utf8'), { offset: 0, limit: 0 }))
      },
    }),
  ]
}

async function contentOf(
  values: { readonly name: string; readonly agent: string | undefined },
  { mesh, signal }: ToolContext,
): Promise<Buffer> {
  const reply = await mesh.call({
    endpoint: toolEndpoints.artifact,
    params: { name: values.name },
    query: ownerOf(values.agent),
    signal,
  })
  const base64 = isJsonObject(reply) ? reply['content_base64'] : null
  if (typeof base64 !== 'string')
    throw new Problem('upstream-failed', { detail: 'The artifact has no content.' })
  const content = Buffer.from(base64, 'base64')
  if (content.length <= wireLimits.artifactMaxBytes) return content
  throw new Problem('body-too-large', {
    detail: `An artifact has at most ${wireLimits.artifactMaxBytes} bytes.`,
  })
}

function ownerOf(agentId: string | undefined): Record<string, string> {
  return agentId === undefined ? {} : { agent: agentId }
}
