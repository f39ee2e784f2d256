import type { ChatFrame } from '@flotilla/protocol/agent-api'
import { compareFiles, seeFiles } from './compare-files.ts'
import type { SeenFiles, WatchedFolder } from './compare-files.ts'

/** Finds what one attempt of a run changes below /data. An attempt without tools reads no folder. */
export interface FileWatch {
  /** Takes the frames of the attempt. The watch begins at the first call of a tool, announced before it is made. */
  onFrame(frame: ChatFrame): void
  /** Sends the frame with what differs now; no frame if the watch did not begin. */
  end(): void
}

/** `begins` is true if the attempt may change files before a call is announced. */
export function createFileWatch(
  folder: WatchedFolder,
  { onFrame, begins }: { readonly onFrame: (frame: ChatFrame) => void; readonly begins: boolean },
): FileWatch {
  let seen: SeenFiles | null = begins ? seeFiles(folder) : null
  return {
    onFrame: (frame) => {
      if (frame.type === 'tool_start') seen ??= seeFiles(folder)
      onFrame(frame)
    },
    end: () => {
      if (seen !== null) onFrame({ type: 'files_changed', ...compareFiles(seen, seeFiles(folder)) })
    },
  }
}
