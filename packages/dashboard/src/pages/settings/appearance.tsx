import { useState } from 'react'
import { Link } from 'wouter'
import { applyTheme, readTheme, themes } from '../../design/theme.ts'
import type { Theme } from '../../design/theme.ts'
import { ChoiceField } from '../../design/fields.tsx'
import { Card } from '../../design/parts.tsx'

const titles: Readonly<Record<Theme, string>> = {
  system: 'As the system has it',
  light: 'Light',
  dark: 'Dark',
}

/** The colors of the pages in this browser. */
export function Appearance() {
  const [theme, setTheme] = useState<Theme>(readTheme)
  return (
    <Card title="Appearance">
      <div className="body stack">
        <ChoiceField
          label="Theme"
          hint="For this browser only."
          value={theme}
          onChange={(chosen) => {
            applyTheme(chosen)
            setTheme(chosen)
          }}
          choices={themes.map((one) => [one, titles[one]] as const)}
        />
        <p className="small muted">
          <Link href="/design">Design</Link> shows the colors, sizes and parts that the pages are made of.
        </p>
      </div>
    </Card>
  )
}
