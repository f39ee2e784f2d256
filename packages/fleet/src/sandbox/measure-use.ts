import type { DataUse } from './sandbox-runtime.ts'

/** The time limit for counting one agent's data, seconds. */
export const countMaxSeconds = 20
/** Counting stops at this number of files, which is too many for an agent, whatever its limit is. */
const filesMax = 2_000_000
/** The maximum number of folders that one call counts, so that no call takes too long. */
export const foldersPerCountMax = 50

/**
 * Returns a shell script that prints one line for each folder: bytes on the disk, files, and `whole` or `part`. A
 * file with several names counts once; counting ends after 20 s, or at two million files. Pure.
 */
export function countScript(folders: readonly string[]): string {
  return folders
    .map(
      (path) =>
        `{ timeout ${countMaxSeconds} find ${quoted(path)} -xdev -printf '%b %y%n %i\\n' 2>/dev/null; echo "end $?"; } | ` +
        // The end line of `find` is read even if the count stops early.
        `awk '$1 == "end" { whole = ($2 == 0 || $2 == 1) && !cut; next } cut { next } ` +
        `/^[0-9]+ f/ && $2 != "f1" && seen[$3]++ { next } { blocks += $1; files++ } files > ${filesMax} { cut = 1 } ` +
        `END { printf "%.0f %.0f %s\\n", blocks * 512, files, whole ? "whole" : "part" }'`,
    )
    .join('\n')
}

/** Parses the script's output, one line per folder in the given order. Pure. */
export function readCounts(printed: string): readonly DataUse[] {
  return printed
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [, bytes, files, how] = /^(\d+) (\d+) (whole|part)$/.exec(line.trim()) ?? []
      if (bytes === undefined || files === undefined) return []
      return [{ bytes: Number(bytes), files: Number(files), complete: how === 'whole' }]
    })
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", String.raw`'\''`)}'`
}
