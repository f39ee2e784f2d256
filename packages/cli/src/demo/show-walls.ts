import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import { printable } from '../terminal/color.ts'
import { renderTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { TriedWall } from './try-walls.ts'

/** Width of the other columns of the table. */
const otherColumns = 62

/** Prints the attempts as a table. With plain processes, every attempt is shown as not isolated. */
export function showWalls(
  terminal: Terminal,
  { walls, runtime }: { readonly walls: readonly TriedWall[]; readonly runtime: RuntimeName },
): void {
  const { color } = terminal
  const verdict = (wall: TriedWall) => {
    if (runtime === 'process') return color.warning('not isolated')
    if (!wall.attempted) return color.faint('not tried')
    return wall.held ? color.good('stopped') : color.bad('NOT STOPPED')
  }
  const happenedMax = Math.max(40, Math.min(90, terminal.columns - otherColumns))
  terminal.print(
    ...renderTable(
      [
        { title: 'ATTEMPT', columnsMax: 34 },
        { title: 'BY' },
        { title: 'WALL' },
        { title: 'WHAT HAPPENED', columnsMax: happenedMax },
      ],
      walls.map((wall) => [wall.title, wall.by, verdict(wall), printable(wall.happened)]),
    ),
  )
}
