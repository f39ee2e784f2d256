import { oneLine } from '../terminal/color.ts'

const nameColumnsMax = 60
/** Maximum number of a server's models that are listed. */
const modelsShown = 6

/** Lists the first models of a server in one line, and counts the others. Pure. */
export function shownModels(models: readonly string[]): string {
  const names = models.slice(0, modelsShown).map((name) => oneLine(name, nameColumnsMax))
  const more = models.length > modelsShown ? [`${models.length - modelsShown} more`] : []
  return [...names, ...more].join(', ')
}
