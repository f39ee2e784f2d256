import { readFile } from 'node:fs/promises'
import { tarDirectory, tarFile } from '../tar-archive.ts'
import type { BundledFile } from './bundle-agent.ts'
import { ensureImage, ofRoot, tarFileFrom } from './ensure-image.ts'
import type { ImageOptions, MadeImage, Part } from './ensure-image.ts'
import { findPinnedNode, findVectorExtension, npmArchive, npmVersion, strippedNode } from './node-parts.ts'
import { agentImageName } from './prune-images.ts'

/** Files of `images/agent` that are sent to the build unchanged. */
const recipeFiles = ['Dockerfile', 'packages.txt', 'warm-compile-cache.cjs', 'probe-walls.cjs'] as const

export interface AgentImageOptions extends ImageOptions {
  /** The agent's own files; see `bundleAgent`. */
  readonly bundle: readonly BundledFile[]
}

/** Returns the image that agents run from; builds it if needed. Rejects with `SandboxError`. */
export async function ensureAgentImage(options: AgentImageOptions): Promise<MadeImage> {
  const node = findPinnedNode(options.packageDirectory, options.engine.architecture)
  const vectors = findVectorExtension(options.packageDirectory, options.engine.architecture)
  const files = [...options.bundle, ...(vectors === null ? [] : [{ name: 'parts/vec0.so', path: vectors }])]
  const bundle = await Promise.all(
    files.map(async ({ name, path }) => ({ name, content: await readFile(path) })),
  )
  return ensureImage(options, {
    name: agentImageName,
    label: 'the agent image',
    recipeFiles,
    parts: [
      ['node', `${node.version}-${options.engine.architecture}`],
      ['npm', npmVersion],
      ...bundle.map((file): Part => [file.name, file.content]),
    ],
    prepare: async () => {
      const [nodePath, npmPath] = await Promise.all([strippedNode(node, options), npmArchive(options)])
      return async () => [
        // Mode 711: a user that cannot read a program's file cannot inspect its process either; see the Dockerfile.
        await tarFileFrom('node', nodePath, 0o711),
        await tarFileFrom('npm.tgz', npmPath, 0o644),
        tarDirectory('agent', { uid: 0, mode: 0o755 }),
        tarDirectory('agent/parts', { uid: 0, mode: 0o755 }),
        ...bundle.map((file) => tarFile(`agent/${file.name}`, file.content, ofRoot)),
      ]
    },
  })
}
