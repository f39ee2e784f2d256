import type { ReactNode } from 'react'
import { Scrolls } from './parts.tsx'

/** The title of a column; numbers are aligned right. */
type Column = string | { readonly right: string }

/**
 * A table that may be wider than the page; on a narrow page each row is a card. The last column holds the actions of
 * a row, and only screen readers announce its title.
 */
export function Table({
  label,
  columns,
  hasActions = false,
  children,
}: {
  readonly label: string
  readonly columns: readonly Column[]
  readonly hasActions?: boolean
  readonly children: ReactNode
}) {
  return (
    <Scrolls label={label}>
      <table className="table stacks">
        <thead>
          <tr>
            {columns.map((column) =>
              typeof column === 'string' ? (
                <th key={column}>{column}</th>
              ) : (
                <th key={column.right} className="right">
                  {column.right}
                </th>
              ),
            )}
            {hasActions && (
              <th>
                <span className="hidden-words">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </Scrolls>
  )
}
