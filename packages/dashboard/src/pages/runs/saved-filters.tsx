import { useState } from 'react'
import { Link, useSearch } from 'wouter'
import { useOwnNames } from '../../data/use-own-names.ts'
import { FormDialog } from '../../design/form-dialog.tsx'
import { TextField } from '../../design/fields.tsx'

/** The longest name of a filter, in characters. */
const nameMaxChars = 40

/** Filters that this person named; the present one can be added or removed. */
export function SavedFilters() {
  const search = useSearch()
  const [filters, give] = useOwnNames('run_filters')
  const [name, setName] = useState<string | null>(null)
  const saved = Object.entries(filters)
  const isSaved = Object.hasOwn(filters, search)
  return (
    <>
      {saved.map(([filter, title]) => (
        <Link
          key={filter}
          href={filter === search ? '/runs' : `/runs?${filter}`}
          className="button small"
          aria-current={filter === search ? 'true' : undefined}
        >
          {title}
        </Link>
      ))}
      {search !== '' && !isSaved && (
        <button type="button" className="button quiet" onClick={() => setName('')}>
          Save filter …
        </button>
      )}
      {isSaved && (
        <button type="button" className="button quiet" onClick={() => give(search, '')}>
          Remove filter<span className="hidden-words"> {filters[search]}</span>
        </button>
      )}
      {name !== null && (
        <FormDialog
          title="Save this filter"
          words="Only you see it; the address of the page is a link to it for others."
          action="Save"
          busy={name.trim() === ''}
          onClose={() => setName(null)}
          onSend={() => {
            give(search, name)
            setName(null)
          }}
        >
          <TextField label="Name" value={name} onChange={setName} maxLength={nameMaxChars} required />
        </FormDialog>
      )}
    </>
  )
}
