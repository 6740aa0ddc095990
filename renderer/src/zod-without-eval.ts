import { config } from 'zod';

// Must run before the contract's schemas are made: zod would try to compile them, which the page's policy forbids and
// the browser reports as a violation even though zod goes on without.
config({ jitless: true });
