import { diffRows } from '../data/diff-rows.ts'
import './diff-view.css'

const marks = { same: ' ', added: '+', removed: '−', skipped: '⋯' } as const
const prefixes = { same: '', added: 'added: ', removed: 'removed: ', skipped: '' } as const

/** Shows the difference of two texts, line by line, as plain text. */
export function DiffView({
  before,
  after,
  label,
}: {
  readonly before: string
  readonly after: string
  readonly label: string
}) {
  const rows = diffRows(before, after)
  return (
    // This element can scroll, so it must be reachable by keyboard.
    <div className="diff mono" tabIndex={0} role="region" aria-label={label}>
      {rows.map(({ kind, text }, index) => (
        <div key={index} className={`diff-row ${kind}`}>
          <span aria-hidden="true">{marks[kind]}</span>
          <span>
            <span className="hidden-words">{prefixes[kind]}</span>
            {text === '' ? ' ' : text}
          </span>
        </div>
      ))}
    </div>
  )
}
