import type { ChatFrame } from '@flotilla/protocol/agent-api'
import type { ChangedFiles } from '@flotilla/protocol/changed-files'
import { compareFiles, seeFiles } from './compare-files.ts'
import type { SeenFiles, WatchedFolder } from './compare-files.ts'

/** Finds what one attempt of a run changes below /data. An attempt without tools reads no folder. */
export interface FileWatch {
  /** Reads the files as they are before the attempt changes any; a second call has no effect. */
  begin(): void
  /** Returns a listener that begins at the first call of a tool, which is announced before it is made. */
  before(onFrame: (frame: ChatFrame) => void): (frame: ChatFrame) => void
  /** Returns what differs now; null if the watch did not begin. */
  end(): ChangedFiles | null
}

export function createFileWatch(folder: WatchedFolder): FileWatch {
  let seen: SeenFiles | null = null
  const begin = (): void => {
    seen ??= seeFiles(folder)
  }
  return {
    begin,
    before: (onFrame) => (frame) => {
      if (frame.type === 'tool_start') begin()
      onFrame(frame)
    },
    end: () => seen && compareFiles(seen, seeFiles(folder)),
  }
}
