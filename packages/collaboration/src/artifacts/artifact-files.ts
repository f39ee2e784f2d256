import { constants } from 'node:fs'
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createDeviceGuard, isMissing, syncFolder } from '@flotilla/foundation/config'
import { removeTree } from '@flotilla/foundation/platform'

/** Stores the bytes of artifacts: one folder per agent, one file per name, readable only by the mesh. */
export interface ArtifactFiles {
  /** Writes and syncs the bytes to a temporary file; `place` renames it atomically, `discard` deletes it. */
  stage(agentId: string, content: Uint8Array): Promise<StagedFile>
  /** Returns null if the file does not exist. Does not follow symbolic links. */
  read(agentId: string, name: string): Promise<Buffer | null>
  remove(agentId: string, name: string): Promise<void>
  removeAll(agentId: string): Promise<void>
  /** Deletes temporary files that a crash left behind. */
  sweep(): Promise<void>
}

export interface StagedFile {
  place(name: string): Promise<void>
  discard(): Promise<void>
}

/** Artifact names cannot start with a dot, so a temporary file can never be mistaken for an artifact. */
const stagedPrefix = '.staged-'

/** Creates the storage. `newSuffix` returns unique names: two concurrent saves must not share a temporary file. */
export function createArtifactFiles(folder: string, newSuffix: () => string): ArtifactFiles {
  const requireDevice = createDeviceGuard(folder)
  return {
    stage: async (agentId, content) => {
      await requireDevice()
      const directory = join(folder, artifactFolderName(agentId))
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const staged = join(directory, `${stagedPrefix}${newSuffix()}`)
      const discard = () => rm(staged, { force: true })
      try {
        const file = await open(staged, 'wx', 0o600)
        try {
          await file.writeFile(content)
          await file.sync()
        } finally {
          await file.close()
        }
      } catch (error) {
        await discard()
        throw error
      }
      return {
        discard,
        place: async (name) => {
          await rename(staged, join(directory, name))
          await syncFolder(directory)
        },
      }
    },
    read: async (agentId, name) => {
      const path = join(folder, artifactFolderName(agentId), name)
      const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((error: unknown) => {
        if (isMissing(error)) return null
        throw error
      })
      if (!file) return null
      try {
        return await file.readFile()
      } finally {
        await file.close()
      }
    },
    remove: (agentId, name) => rm(join(folder, artifactFolderName(agentId), name), { force: true }),
    removeAll: (agentId) => removeTree(join(folder, artifactFolderName(agentId))),
    sweep: async () => {
      const directories = await readdir(folder).catch(() => [])
      for (const directory of directories) {
        const names = await readdir(join(folder, directory)).catch(() => [])
        const staged = names.filter((name) => name.startsWith(stagedPrefix))
        await Promise.all(staged.map((name) => rm(join(folder, directory, name), { force: true })))
      }
    },
  }
}

/** Returns an agent's folder name, different for different ids, also on case-insensitive file systems. */
export function artifactFolderName(agentId: string): string {
  return Buffer.from(agentId, 'utf8').toString('hex')
}
