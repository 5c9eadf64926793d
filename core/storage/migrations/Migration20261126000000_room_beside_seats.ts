// Seats have room for what changes about them.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261126000000_room_beside_seats extends Migration {
  override up(): void {
    // A machine is noted as seen without a change to any index, as long as there is room beside the row.
    this.addSql('alter table seat set (fillfactor = 85)');
  }
}
