/** Icons as outlines of 16 by 16; each has text beside it that says the same. */
const paths = {
  chat: 'M2.5 3.5h11v7.5h-6l-3 2.5v-2.5h-2z',
  fleet: 'M2.5 2.5h4.5v4.5h-4.5zM9 2.5h4.5v4.5h-4.5zM2.5 9h4.5v4.5h-4.5zM9 9h4.5v4.5h-4.5z',
  runs: 'M2.5 4h6M5.5 8h8M3.5 12h7',
  work: 'M2.5 3h3v10h-3zM6.5 3h3v7h-3zM10.5 3h3v4.500h-3z',
  blackboard: 'M2 3h12v8h-12zM5 13.500l1-2.500M11 13.500l-1-2.500M4.500 6h5M4.500 8.500h3',
  approvals:
    'M8 1.5l5.5 2v4.5c0 3-2.3 5.200-5.500 6.500c-3.200-1.300-5.500-3.500-5.500-6.500v-4.500zM5.500 8l2 2l3-3.500',
  policy: 'M8 2l5 2v4c0 3-2 5-5 6c-3-1-5-3-5-6v-4z',
  costs: 'M2.500 13.500h11M4 11v-3M8 11v-8M12 11v-5',
  wallet:
    'M2.500 4.500h9.500a1.500 1.500 0 0 1 1.500 1.500v6a1.500 1.500 0 0 1-1.500 1.500h-9.500zM2.500 4.500l7.500-2v2M10.500 9h.500',
  triggers: 'M8 2a6 6 0 1 0 0 12a6 6 0 0 0 0-12M8 4.500v3.500l2.500 1.500',
  journal: 'M4.5 2.5h8v11h-8a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2M6 5.500h4M6 8h4',
  settings: 'M2.500 5h5M10.500 5h3M9 3.500v3M2.500 11h3M8.500 11h5M7 9.500v3',
  design: 'M8 2l6 6l-6 6l-6-6z',
  menu: 'M2.500 4.500h11M2.500 8h11M2.500 11.500h11',
  close: 'M4 4l8 8M12 4l-8 8',
  tool: 'M9.500 2.500a3.500 3.500 0 0 0-3 5l-4 4l2 2l4-4a3.500 3.500 0 0 0 5-3l-2 2l-2-2l2-2a3.500 3.500 0 0 0-2-2',
  file: 'M4 1.500h5l3 3v10h-8zM9 1.500v3h3',
  attach:
    'M13 7l-5.500 5.500a3 3 0 0 1-4.200-4.200l5.500-5.500a2 2 0 0 1 2.800 2.800l-5.300 5.300a1 1 0 0 1-1.400-1.400l4.800-4.800',
  beside: 'M2.500 3.500h11v9h-11zM8 3.500v9',
  edit: 'M3 13l.600-3l7-7l2.400 2.400l-7 7zM9 4.600l2.400 2.400',
  back: 'M9.500 3.500l-4.500 4.500l4.500 4.500',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  )
}
