/** The studio's sign: a drop, and the rings that it makes. */
export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden className="text-accent">
      <path
        d="M12 2.5c2.3 3.1 3.7 5 3.7 7a3.7 3.7 0 0 1-7.400 0c0-2 1.400-3.900 3.700-7Z"
        fill="currentColor"
      />
      <path
        d="M7.300 16.600c1.400-.7 3-1.100 4.700-1.100s3.300.4 4.700 1.100M4.400 20.300c2.200-1.200 4.800-1.800 7.600-1.800s5.400.6 7.600 1.800"
        stroke="currentColor"
        strokeWidth="1.500"
        strokeLinecap="round"
      />
    </svg>
  );
}
