// Package main keeps a catalogue with GORM: migrations, hooks, preloading, batches, transactions and upserts.
package main

import (
	"errors"
	"fmt"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// Product is a thing that is for sale.
type Product struct {
	gorm.Model
	Code   string `gorm:"uniqueIndex"`
	Price  float64
	Labels []Label
}

// Label is a word at a product.
type Label struct {
	ID        uint
	ProductID uint `gorm:"index"`
	Name      string
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	db, err := gorm.Open(sqlite.Open("app.db?_foreign_keys=on"), &gorm.Config{Logger: logger.Default.LogMode(logger.Silent)})
	check(err)
	check(db.AutoMigrate(&Product{}, &Label{}))
	for number := 0; number < 60; number++ {
		err := db.Transaction(func(tx *gorm.DB) error {
			product := Product{Code: fmt.Sprintf("P%d", number), Price: float64(number) * 1.1, Labels: []Label{{Name: "new"}, {Name: fmt.Sprint(number % 5)}}}
			check(tx.Create(&product).Error)
			if number%12 == 11 {
				return errors.New("changed my mind")
			}
			return tx.Model(&product).Update("price", gorm.Expr("price * ?", 0.9)).Error
		})
		_ = err
		var products []Product
		check(db.Preload("Labels").Where("price > ?", 10).Order("price").Limit(10).Find(&products).Error)
		for _, product := range products {
			check(db.Model(&product).Update("price", product.Price+0.01).Error)
		}
		var found Product
		_ = db.First(&found, "code = ?", fmt.Sprintf("P%d", number/2))
		check(db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns([]string{"price"})}).Create(&Product{Code: "P0", Price: 1}).Error)
	}
	check(db.Where("price < ?", 5).Delete(&Product{}).Error)
}
