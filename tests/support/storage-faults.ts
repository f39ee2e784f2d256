import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, realpathSync, rmSync, writeSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Faults of the storage below one folder, for processes that are started with `environment`. */
export interface StorageFaults {
  readonly environment: Readonly<Record<string, string>>
  set(faults: { readonly write?: Fault; readonly sync?: Fault; readonly syncDelayMs?: number }): void
  heal(): void
}

type Fault = 'EIO' | 'EROFS' | 'ENOSPC' | 'EDQUOT' | 'ESTALE'

/** Whether this machine can build the library: it needs a C compiler. */
export const canInjectFaults = hasCompiler()

const intBytes = 4

/** Builds the library for one test. Faults hold at once for processes that run already. */
export function storageFaults(folder: string): StorageFaults {
  const place = mkdtempSync(join(tmpdir(), 'flotilla-faults-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const [library, control] = [join(place, 'faults.so'), join(place, 'control')]
  const source = join(import.meta.dirname, 'storage-faults.c')
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', library, source, '-ldl'])
  const file = openSync(control, 'w+')
  onTestFinished(() => closeSync(file))
  const set: StorageFaults['set'] = ({ write, sync, syncDelayMs = 0 }) => {
    const bytes = Buffer.alloc(3 * intBytes)
    bytes.writeInt32LE(errnoOf(write), 0)
    bytes.writeInt32LE(errnoOf(sync), intBytes)
    bytes.writeInt32LE(syncDelayMs, 2 * intBytes)
    writeSync(file, bytes, 0, bytes.length, 0)
  }
  set({})
  return {
    environment: {
      LD_PRELOAD: library,
      STORAGE_FAULT_CONTROL: control,
      STORAGE_FAULT_FOLDER: realpathSync(folder),
    },
    set,
    heal: () => set({}),
  }
}

function errnoOf(fault: Fault | undefined): number {
  return fault === undefined ? 0 : constants.errno[fault]
}

function hasCompiler(): boolean {
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
